//! The page of one controller: queue, totals, and the keys it works on.

use super::Page;
use super::parts::{Column, Time, count, state, table_end, table_head, text_cell, tile};
use crate::debug::html::Html;
use crate::debug::view::{ControllerView, KeyView};

const KEY: (&str, Column) = ("Key", Column::Title);
const SINCE: (&str, Column) = ("For", Column::Number);
const FAILURES: (&str, Column) = ("Failures", Column::Number);
const RETRY: (&str, Column) = ("Retry after", Column::Number);
const WRITES: (&str, Column) = ("Writes", Column::Number);

pub(in crate::debug) fn page(controller: &ControllerView) -> Page {
    let ControllerView { queue, totals, .. } = controller;
    let mut main = Html::default();
    main.raw("<p class=\"path\"><a href=\"?\">Informers</a> / Controllers</p><h1>");
    main.text(&controller.name).raw("</h1><p>");
    let word = match controller.failing.count {
        0 => "ok",
        _ => "keys fail",
    };
    state(&mut main, controller.level, word);
    main.raw("</p><div class=\"tiles\">");
    let low = format!("{} of low priority", queue.low_priority);
    tile(&mut main, "Ready keys", count(queue.ready), low);
    tile(
        &mut main,
        "Delayed keys",
        count(queue.delayed),
        "retries and requeues",
    );
    tile(
        &mut main,
        "Oldest waits",
        Time(queue.oldest_waiting_seconds),
        "for a worker",
    );
    tile(
        &mut main,
        "Longest runs",
        Time(queue.longest_running_seconds),
        "in a worker",
    );
    let adds = format!("{} added", count(queue.adds));
    tile(&mut main, "Reconciled", count(totals.succeeded), adds);
    let panics = format!("{} panicked, {} too slow", totals.panicked, totals.timed_out);
    tile(&mut main, "Failed", count(totals.failed), panics);
    main.raw("</div>");
    section(
        &mut main,
        "Failing",
        controller.failing.count,
        &controller.failing.keys,
    );
    section(
        &mut main,
        "Running",
        controller.running.count,
        &controller.running.keys,
    );
    section(
        &mut main,
        "Waiting for their writes",
        controller.waiting.count,
        &controller.waiting.keys,
    );
    Page::new(format!("controller {}", controller.name), main)
}

fn section(main: &mut Html, name: &'static str, all: usize, keys: &[KeyView]) {
    main.raw("<h2>").raw(name).raw(" <small>").text(count(all));
    if keys.len() < all {
        main.text(format_args!(", the first {}", keys.len()));
    }
    main.raw("</small></h2>");
    if keys.is_empty() {
        main.raw("<p class=\"dim\">None.</p>");
        return;
    }
    let has = |which: fn(&KeyView) -> bool| keys.iter().any(which);
    let mut columns = vec![KEY, SINCE];
    columns.extend(has(|key| key.failures.is_some()).then_some(FAILURES));
    columns.extend(has(|key| key.retry_in_seconds.is_some()).then_some(RETRY));
    columns.extend(has(|key| key.writes.is_some()).then_some(WRITES));
    table_head(main, &columns);
    for key in keys {
        main.raw(match key.error {
            Some(_) => "<tr class=\"has-why\">",
            None => "<tr>",
        });
        text_cell(main, KEY, &key.key);
        text_cell(main, SINCE, Time(Some(key.seconds)));
        if let Some(failures) = key.failures {
            text_cell(main, FAILURES, count(failures));
        }
        if let Some(retry) = key.retry_in_seconds {
            text_cell(main, RETRY, Time(Some(retry)));
        }
        if let Some(writes) = key.writes {
            text_cell(main, WRITES, count(writes));
        }
        main.raw("</tr>");
        if let Some(error) = &key.error {
            main.raw("<tr class=\"why\"><td colspan=\"5\">")
                .text(error)
                .raw("</td></tr>");
        }
    }
    table_end(main);
}
