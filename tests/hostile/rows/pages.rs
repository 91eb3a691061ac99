//! Pages and continue tokens.

use crate::bodies::{GOOD_LIST, list_at, list_of, object, refusal};
use crate::row::{BackingOff, Live, Row, lists};
use crate::script::{Answer, Call, Step, body, json};

/// Pages without progress are paced, and a list may have a hundred of them before it fails: two requests a
/// second.
const PACED: u64 = 9_000;

/// A page with a token for the next one.
fn page(token: &str, items: &[String]) -> Answer {
    json(list_at("10", &format!(r#","continue":"{token}""#), items))
}

fn is_first(call: &Call) -> bool {
    call.parameter("continue").is_empty()
}

/// A good first page, and this answer to later ones.
fn second(name: &str, script: impl Fn(&Call) -> Answer + Send + Sync + 'static) -> Row {
    lists(name, move |call| match is_first(call) {
        true => page("next", &[object("a", "5")]),
        false => script(call),
    })
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        lists("a continue token that never changes", |_| {
            page("same", &[object("a", "5")])
        })
        .fails(),
        lists("two continue tokens in turn", |call| {
            page(["one", "two"][call.nth as usize % 2], &[object("a", "5")])
        })
        .minutes(20)
        .requests(PACED)
        .synced(false)
        .objects(0)
        .error("had no new object"),
        lists("a continue token that is always new, without items", |call| {
            page(&format!("token-{}", call.nth), &[])
        })
        .synced(false)
        .objects(0)
        .error("had no new object")
        .minutes(20)
        .requests(PACED),
        lists(
            "a continue token that is always new, with the same item",
            |call| page(&format!("token-{}", call.nth), &[object("a", "5")]),
        )
        .synced(false)
        .objects(0)
        .error("had no new object")
        .minutes(20)
        .requests(PACED),
        lists(
            "a continue token that is always new, with items that cannot be used",
            |call| page(&format!("token-{}", call.nth), &["{}".to_owned()]),
        )
        // Each attempt logs both kinds of warning.
        .warnings(300)
        .synced(false)
        .objects(0)
        .error("had no new object")
        .minutes(20)
        .requests(PACED),
        lists(
            "a continue token that is always new, with the same item, which is transformed",
            |call| page(&format!("token-{}", call.nth), &[object("a", "5")]),
        )
        .transformed()
        .synced(false)
        .objects(0)
        .error("had no new object")
        .minutes(20)
        .requests(PACED),
        lists("every second page is empty", |call| match call.nth % 2 {
            0 => page(&format!("token-{}", call.nth), &[]),
            _ => page(&format!("token-{}", call.nth), &[object("a", "5")]),
        })
        .minutes(20)
        .requests(PACED),
        lists("ten empty pages and then the end", |call| match call.nth {
            0..9 => page(&format!("token-{}", call.nth), &[]),
            _ => json(GOOD_LIST),
        })
        .lives(2),
        lists("a continue token of 1 MB", |_| {
            page(&"t".repeat(1 << 20), &[object("a", "5")])
        })
        .minutes(10)
        .synced(false),
        lists("a continue token with escape sequences and lines", |_| {
            page(
                r"t\u001b[31m\r\nHost: example.com\u0000&limit=0#",
                &[object("a", "5")],
            )
        })
        .fails(),
        lists("a continue token that is a number", |_| {
            json(list_at("10", r#","continue":7"#, &[object("a", "5")]))
        })
        .fails(),
        second("a second page that is 410, each time", |_| {
            refusal(410, "Expired", "token expired")
        })
        .fails(),
        second("a second page that is 400, each time", |_| {
            refusal(400, "BadRequest", "continue key not valid")
        })
        .fails()
        .error("continue key"),
        second("a second page that is 500", |_| {
            refusal(500, "InternalError", "oops")
        })
        .fails()
        .error("oops"),
        second("a second page that is garbage", |_| json("garbage")).fails(),
        second("a second page that never comes", |_| Answer::Never)
            .synced(false)
            .objects(0)
            .error("no answer"),
        second("a second page that breaks off", |_| {
            body([Step::text(&GOOD_LIST[..120]), Step::Reset])
        })
        .fails(),
        second("a second page that is silent in the middle", |_| {
            body([Step::text(&GOOD_LIST[..120]), Step::Silence])
        })
        .synced(false)
        .objects(0),
        second("a second page of a newer state", |_| {
            json(list_at("99", "", &[object("b", "98")]))
        })
        .state(Live),
        second("a second page of an older state", |_| {
            json(list_at("3", "", &[object("b", "2")]))
        })
        .state(Live),
        second("a second page without a version", |_| {
            json(list_at("", "", &[object("b", "2")]))
        })
        .fails(),
        second("a second page with the items of the first", |_| {
            json(list_of(&[object("a", "5"), object("b", "6")]))
        })
        .lives(2),
        lists("pages that are larger than requested", |call| {
            match is_first(call) {
                true => {
                    let items: Vec<String> = (0..2_000).map(|n| object(&format!("o-{n}"), "5")).collect();
                    page("next", &items)
                }
                false => json(list_of(&[object("last", "6")])),
            }
        })
        .lives(2_001),
        lists("a remaining count that is negative", |_| {
            json(list_at("10", r#","remainingItemCount":-5"#, &[object("a", "5")]))
        })
        .lives(1),
        lists("a remaining count past all measure", |call| {
            match is_first(call) {
                true => json(list_at(
                    "10",
                    r#","continue":"next","remainingItemCount":9223372036854775807"#,
                    &[object("a", "5")],
                )),
                false => json(GOOD_LIST),
            }
        })
        .lives(2),
        lists("a remaining count that is text", |_| {
            json(list_at(
                "10",
                r#","remainingItemCount":"many""#,
                &[object("a", "5")],
            ))
        })
        .state(BackingOff)
        .state(Live),
    ]
}
