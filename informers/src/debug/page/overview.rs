//! The overview: every informer and every controller in one row each.

use std::cmp::Reverse;

use super::Page;
use super::parts::{
    Amount, Column, Time, cell, chart, count, explanation, state, table_end, table_head, text_cell, tile,
    word,
};
use crate::debug::history::SAMPLES;
use crate::debug::html::Html;
use crate::debug::view::{ControllerView, InformerView, Level, Overview};

const RESOURCE: (&str, Column) = ("Resource", Column::Title);
const STATE: (&str, Column) = ("State", Column::Text);
const OBJECTS: (&str, Column) = ("Objects", Column::Number);
const EVENTS: (&str, Column) = ("Events / s", Column::Number);
const BACKLOG: (&str, Column) = ("Backlog", Column::Number);
const AGE: (&str, Column) = ("Data age", Column::Number);
const ERRORS: (&str, Column) = ("Errors", Column::Number);

const CONTROLLER: (&str, Column) = ("Controller", Column::Title);
const READY: (&str, Column) = ("Ready", Column::Number);
const DELAYED: (&str, Column) = ("Delayed", Column::Number);
const RUNNING: (&str, Column) = ("Running", Column::Number);
const FAILING: (&str, Column) = ("Failing", Column::Number);
const LONGEST: (&str, Column) = ("Oldest waits", Column::Number);
const DONE: (&str, Column) = ("Reconciled", Column::Number);

pub(in crate::debug) fn page(overview: &Overview) -> Page {
    let mut main = Html::default();
    let informers = &overview.informers;
    main.raw("<h1>Informers</h1>");
    tiles(&mut main, overview);
    if informers.is_empty() {
        main.raw("<p class=\"dim\">No informer was requested from the factory yet.</p>");
    } else {
        table_head(
            &mut main,
            &[RESOURCE, STATE, OBJECTS, EVENTS, BACKLOG, AGE, ERRORS],
        );
        let mut rows: Vec<&InformerView> = informers.iter().collect();
        // What needs attention comes first, then the order of requests.
        rows.sort_by_key(|informer| Reverse(informer.state.level));
        for informer in rows {
            row(&mut main, informer);
        }
        table_end(&mut main);
    }
    if !overview.controllers.is_empty() {
        main.raw("<h2>Controllers</h2>");
        let columns = [CONTROLLER, STATE, READY, DELAYED, RUNNING, FAILING, LONGEST, DONE];
        table_head(&mut main, &columns);
        for controller in &overview.controllers {
            controller_row(&mut main, controller);
        }
        table_end(&mut main);
    }
    Page::new(format!("{} informers", informers.len()), main)
}

fn tiles(main: &mut Html, overview: &Overview) {
    let informers = &overview.informers;
    let live = informers
        .iter()
        .filter(|informer| informer.state.level == Level::Ok)
        .count();
    let objects: usize = informers.iter().map(|informer| informer.objects).sum();
    let rates = informers.iter().filter_map(|informer| informer.events_per_second);
    let backlog: usize = informers.iter().map(|informer| informer.backlog).sum();
    let handlers: usize = informers.iter().map(|informer| informer.handlers.len()).sum();
    let oldest = informers.iter().filter_map(|informer| informer.age_seconds);
    main.raw("<div class=\"tiles\">");
    let failing = informers
        .iter()
        .filter(|informer| informer.state.level >= Level::Warning)
        .count();
    let note = match failing {
        0 if live == informers.len() => "all live".to_owned(),
        0 => format!("{live} live"),
        _ => format!("{live} live, {failing} in trouble"),
    };
    tile(main, "Informers", count(informers.len()), note);
    tile(main, "Objects", count(objects), "in the caches");
    tile(main, "Events / s", Amount(rates.sum()), "received, over 10 s");
    tile(
        main,
        "Backlog",
        count(backlog),
        format_args!("of {handlers} handlers"),
    );
    tile(
        main,
        "Oldest data",
        Time(oldest.reduce(f64::max)),
        "since data arrived",
    );
    if !overview.controllers.is_empty() {
        let failing: usize = overview
            .controllers
            .iter()
            .map(|controller| controller.failing.count)
            .sum();
        let note = format!("{failing} keys fail");
        tile(main, "Controllers", count(overview.controllers.len()), note);
    }
    main.raw("</div>");
}

fn row(main: &mut Html, informer: &InformerView) {
    let why = explanation(&informer.state);
    main.raw(match why {
        Some(_) => "<tr class=\"has-why\">",
        None => "<tr>",
    });
    cell(main, RESOURCE);
    main.link(&[("informer", &informer.id)], &informer.id)
        .raw("</td>");
    cell(main, STATE);
    state(main, informer.state.level, word(&informer.state));
    main.raw("</td>");
    text_cell(main, OBJECTS, count(informer.objects));
    cell(main, EVENTS);
    main.raw("<span>");
    match informer.events_per_second {
        Some(rate) => main.text(Amount(rate)),
        None => main.text(super::parts::NONE),
    };
    chart(
        main,
        "events per second",
        &informer.history.events_per_second,
        SAMPLES,
    );
    main.raw("</span></td>");
    cell(main, BACKLOG);
    main.raw("<span>").text(count(informer.backlog));
    let backlog: Vec<f64> = informer
        .history
        .backlog
        .iter()
        .map(|&depth| depth as f64)
        .collect();
    chart(main, "backlog", &backlog, SAMPLES);
    main.raw("</span></td>");
    text_cell(main, AGE, Time(informer.age_seconds));
    text_cell(main, ERRORS, count(informer.counts.errors));
    main.raw("</tr>");
    if let Some(why) = why {
        main.raw("<tr class=\"why\"><td colspan=\"7\">")
            .text(why)
            .raw("</td></tr>");
    }
}

fn controller_row(main: &mut Html, controller: &ControllerView) {
    main.raw("<tr>");
    cell(main, CONTROLLER);
    main.link(&[("controller", &controller.name)], &controller.name)
        .raw("</td>");
    cell(main, STATE);
    let word = match controller.failing.count {
        0 => "ok",
        _ => "keys fail",
    };
    state(main, controller.level, word);
    main.raw("</td>");
    text_cell(main, READY, count(controller.queue.ready));
    text_cell(main, DELAYED, count(controller.queue.delayed));
    text_cell(main, RUNNING, count(controller.running.count));
    text_cell(main, FAILING, count(controller.failing.count));
    text_cell(main, LONGEST, Time(controller.queue.oldest_waiting_seconds));
    text_cell(main, DONE, count(controller.totals.succeeded));
    main.raw("</tr>");
}
