//! The page of one informer: scopes, handlers, indexes and the keys of its objects.

use super::Page;
use super::parts::{
    Amount, Bytes, Column, NONE, Time, cell, chart, count, explanation, state, table_end, table_head,
    text_cell, tile, word,
};
use crate::debug::history::SAMPLES;
use crate::debug::html::Html;
use crate::debug::view::{HandlerView, IndexView, InformerView, KeyPage, Level, ScopeView};

const SCOPE: (&str, Column) = ("Scope", Column::Title);
const STATE: (&str, Column) = ("State", Column::Text);
const SINCE: (&str, Column) = ("For", Column::Number);
const VERSION: (&str, Column) = ("Version", Column::Number);
const AGE: (&str, Column) = ("Data age", Column::Number);
const LISTS: (&str, Column) = ("Lists", Column::Number);
const WATCHES: (&str, Column) = ("Watches", Column::Number);
const EVENTS: (&str, Column) = ("Events", Column::Number);
const ERRORS: (&str, Column) = ("Errors", Column::Number);

const HANDLER: (&str, Column) = ("Handler", Column::Title);
const BACKLOG: (&str, Column) = ("Backlog", Column::Number);
const OLDEST: (&str, Column) = ("Oldest waits", Column::Number);
const BUSY: (&str, Column) = ("In a call for", Column::Number);
const SLOWEST: (&str, Column) = ("Slowest call", Column::Number);
const CALLS: (&str, Column) = ("Calls", Column::Number);
const RESYNC: (&str, Column) = ("Resync", Column::Number);
const PANICS: (&str, Column) = ("Panics", Column::Number);

const INDEX: (&str, Column) = ("Index", Column::Title);
const VALUES: (&str, Column) = ("Values", Column::Number);
const FAILING: (&str, Column) = ("Objects left out", Column::Number);
const FAILURES: (&str, Column) = ("Failures", Column::Number);

pub(in crate::debug) fn page(informer: &InformerView, keys: &KeyPage) -> Page {
    let mut main = Html::default();
    main.raw("<p class=\"path\"><a href=\"?\">Informers</a> /</p><h1>");
    main.text(&informer.id).raw("</h1><p>");
    state(&mut main, informer.state.level, word(&informer.state));
    main.raw(" <span class=\"dim\">").text(match informer.synced {
        true => "in sync",
        false => "not in sync yet",
    });
    main.raw("</span></p>");
    if let Some(why) = explanation(&informer.state) {
        main.raw("<p class=\"note\">").text(why).raw("</p>");
    }
    tiles(&mut main, informer);
    charts(&mut main, informer);
    scopes(&mut main, informer);
    handlers(&mut main, &informer.handlers);
    indexes(&mut main, &informer.indexes);
    stale(&mut main, informer);
    object_keys(&mut main, informer, keys);
    Page::new(format!("{}: {}", informer.id, word(&informer.state)), main)
}

fn tiles(main: &mut Html, informer: &InformerView) {
    let counts = &informer.counts;
    main.raw("<div class=\"tiles\">");
    let bytes = format!("about {}", Bytes(informer.approximate_bytes));
    tile(main, "Objects", count(informer.objects), bytes);
    let rate = informer.events_per_second.map(|rate| Amount(rate).to_string());
    let last = format!("last {} ago", Time(informer.last_event_seconds));
    tile(
        main,
        "Events / s",
        rate.as_deref().unwrap_or(NONE),
        informer
            .last_event_seconds
            .map_or("none yet".to_owned(), |_| last),
    );
    let queued = format!("{} not committed", count(informer.queued));
    tile(main, "Backlog", count(informer.backlog), queued);
    tile(main, "Data age", Time(informer.age_seconds), "since data arrived");
    let took = informer.last_list.as_ref().map(|list| {
        let took = Time(Some(list.took_seconds));
        format!("it took {took}, {} objects", count(list.objects))
    });
    let since = informer.last_list.as_ref().map(|list| list.seconds_ago);
    tile(
        main,
        "Since the last full read",
        Time(since),
        took.as_deref().unwrap_or("none yet"),
    );
    let relists: u64 = counts.relists.values().sum();
    let reasons: Vec<String> = counts
        .relists
        .iter()
        .map(|(reason, number)| format!("{} {}", reason.replace('_', " "), count(*number)))
        .collect();
    tile(main, "Relists", count(relists), reasons.join(", "));
    let unusable = counts.undecodable + informer.transform_failures;
    let error = match &informer.error {
        Some(error) => format!(
            "{} since {}",
            count(error.count),
            Time(Some(error.first_seconds_ago))
        ),
        None => "none now".to_owned(),
    };
    tile(main, "Errors", count(counts.errors), error);
    if unusable > 0 {
        let note = format!(
            "{} undecodable, {} by transform",
            counts.undecodable, informer.transform_failures
        );
        tile(main, "Unusable objects", count(unusable), note);
    }
    main.raw("</div>");
}

fn charts(main: &mut Html, informer: &InformerView) {
    let backlog: Vec<f64> = informer
        .history
        .backlog
        .iter()
        .map(|&depth| depth as f64)
        .collect();
    main.raw("<div class=\"charts\">");
    figure(main, "Events per second", &informer.history.events_per_second);
    figure(main, "Backlog", &backlog);
    main.raw("</div>");
}

fn figure(main: &mut Html, name: &'static str, samples: &[f64]) {
    let most = samples.iter().copied().fold(0.0, f64::max);
    main.raw("<figure><figcaption>").raw(name);
    main.raw(", 5 minutes <span>at most ")
        .text(Amount(most))
        .raw("</span></figcaption>");
    chart(main, name, samples, SAMPLES);
    main.raw("</figure>");
}

fn heading(main: &mut Html, name: &'static str, number: usize) {
    main.raw("<h2>")
        .raw(name)
        .raw(" <small>")
        .text(count(number))
        .raw("</small></h2>");
}

fn scopes(main: &mut Html, informer: &InformerView) {
    heading(main, "Scopes", informer.scopes.len());
    let columns = [SCOPE, STATE, SINCE, VERSION, AGE, LISTS, WATCHES, EVENTS, ERRORS];
    table_head(main, &columns);
    for scope in &informer.scopes {
        scope_row(main, scope);
    }
    table_end(main);
}

fn scope_row(main: &mut Html, scope: &ScopeView) {
    let error = scope.last_error.as_ref();
    main.raw(match error {
        Some(_) => "<tr class=\"has-why\">",
        None => "<tr>",
    });
    text_cell(main, SCOPE, &scope.scope);
    cell(main, STATE);
    state(main, scope.state.level, word(&scope.state));
    main.raw("</td>");
    text_cell(main, SINCE, Time(Some(scope.state_seconds)));
    text_cell(main, VERSION, scope.version.as_deref().unwrap_or(NONE));
    text_cell(main, AGE, Time(scope.age_seconds));
    text_cell(main, LISTS, count(scope.counts.lists));
    text_cell(main, WATCHES, count(scope.counts.watches));
    text_cell(main, EVENTS, count(scope.counts.events));
    text_cell(main, ERRORS, count(scope.counts.errors));
    main.raw("</tr>");
    if let Some(error) = error {
        main.raw("<tr class=\"why\"><td colspan=\"9\">Last error, ");
        main.text(Time(Some(error.last_seconds_ago))).raw(" ago: ");
        main.text(&error.text).raw("</td></tr>");
    }
}

fn handlers(main: &mut Html, handlers: &[HandlerView]) {
    heading(main, "Handlers", handlers.len());
    if handlers.is_empty() {
        main.raw("<p class=\"dim\">None. The cache is read by listers only.</p>");
        return;
    }
    let columns = [
        HANDLER, STATE, BACKLOG, OLDEST, BUSY, SLOWEST, CALLS, RESYNC, PANICS,
    ];
    table_head(main, &columns);
    for handler in handlers {
        main.raw(match handler.last_panic {
            Some(_) => "<tr class=\"has-why\">",
            None => "<tr>",
        });
        text_cell(main, HANDLER, &handler.name);
        cell(main, STATE);
        state(main, handler.level, handler.state);
        main.raw("</td>");
        text_cell(main, BACKLOG, count(handler.backlog));
        text_cell(main, OLDEST, Time(handler.oldest_waiting_seconds));
        text_cell(main, BUSY, Time(handler.busy_seconds));
        text_cell(main, SLOWEST, Time(handler.slowest_call_seconds));
        text_cell(main, CALLS, count(handler.calls));
        text_cell(main, RESYNC, Time(handler.resync_seconds));
        text_cell(main, PANICS, count(handler.panics));
        main.raw("</tr>");
        if let Some(message) = &handler.last_panic {
            main.raw("<tr class=\"why\"><td colspan=\"9\">Last panic: ");
            main.text(message).raw("</td></tr>");
        }
    }
    table_end(main);
}

fn indexes(main: &mut Html, indexes: &[IndexView]) {
    heading(main, "Indexes", indexes.len());
    if indexes.is_empty() {
        main.raw("<p class=\"dim\">None.</p>");
        return;
    }
    table_head(main, &[INDEX, STATE, VALUES, FAILING, FAILURES]);
    for index in indexes {
        let level = match index.failing {
            0 => Level::Ok,
            _ => Level::Warning,
        };
        main.raw(match index.last_failure_key {
            Some(_) => "<tr class=\"has-why\">",
            None => "<tr>",
        });
        text_cell(main, INDEX, &index.name);
        cell(main, STATE);
        state(
            main,
            level,
            if level == Level::Ok {
                "complete"
            } else {
                "incomplete"
            },
        );
        main.raw("</td>");
        text_cell(main, VALUES, count(index.values));
        text_cell(main, FAILING, count(index.failing));
        text_cell(main, FAILURES, count(index.failures));
        main.raw("</tr>");
        if let Some(key) = &index.last_failure_key {
            main.raw("<tr class=\"why\"><td colspan=\"5\">The function failed for ")
                .text(key);
            if let Some(message) = &index.last_failure_message {
                main.raw(": ").text(message);
            }
            main.raw("</td></tr>");
        }
    }
    table_end(main);
}

fn stale(main: &mut Html, informer: &InformerView) {
    if informer.stale.count == 0 {
        return;
    }
    heading(main, "Stale objects", informer.stale.count);
    main.raw(
        "<p class=\"dim\">Their newest state could not be used. The cache has an older one, or none.</p>",
    );
    list(main, &informer.stale.keys);
}

fn list(main: &mut Html, keys: &[String]) {
    main.raw("<ul class=\"keys\">");
    for key in keys {
        main.raw("<li><code>").text(key).raw("</code></li>");
    }
    main.raw("</ul>");
}

fn object_keys(main: &mut Html, informer: &InformerView, keys: &KeyPage) {
    heading(main, "Object keys", informer.objects);
    main.raw("<div class=\"pages\">");
    main.link(&[("informer", &informer.id)], "First page");
    if let Some(next) = &keys.next {
        main.raw(" ");
        main.link(&[("informer", &informer.id), ("after", next)], "Next page");
    }
    main.raw("<form method=\"get\"><input type=\"hidden\" name=\"informer\" value=\"")
        .text(&informer.id);
    main.raw("\"><input name=\"from\" aria-label=\"Go to a key\" placeholder=\"namespace/name\">");
    main.raw("<button>Go to</button></form></div>");
    match keys.keys.is_empty() {
        true => {
            main.raw("<p class=\"dim\">None here.</p>");
        }
        false => list(main, &keys.keys),
    }
}
