//! Lists of more bytes or objects than are allowed, and lists that trickle.

use informer_core::delta::QueueOptions;

use crate::bodies::{end_bookmark, event, frames_then_good, gzipped, list_at, list_of, object};
use crate::row::{LimitReached, Row, always, lists, watches};
use crate::script::{Answer, Step, Verb, body, json};

const KIB: u64 = 1024;

/// The bound on bytes in these rows. The default is 16 GiB.
const BYTES: u64 = 256 * KIB;

/// The bound on objects in these rows. The default is 10,000,000.
const OBJECTS: usize = 100;

fn objects(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| object(&format!("o-{number}"), "5"))
        .collect()
}

/// More than [`BYTES`], of objects that are small.
fn many_bytes() -> String {
    let list = list_of(&objects(4_000));
    assert!(list.len() as u64 > BYTES, "{} bytes", list.len());
    list
}

/// A list in chunks, with a wait before each.
fn trickle(seconds: u64, pieces: Vec<String>) -> Answer {
    body(
        pieces
            .into_iter()
            .flat_map(move |piece| [Step::wait(seconds), Step::text(piece)]),
    )
}

/// A good list of three objects, each in its own chunk.
fn slow_items() -> Vec<String> {
    let first = list_of(&objects(1)).replace("]}", "");
    let later = objects(3).into_iter().skip(1).map(|item| format!(",{item}"));
    [first]
        .into_iter()
        .chain(later)
        .chain(["]}".to_owned()])
        .collect()
}

fn with_max_bytes(row: Row) -> Row {
    row.with(|builder| {
        builder.source_options(|mut options| {
            options.max_list_bytes = BYTES;
            options
        })
    })
}

fn with_max_objects(row: Row) -> Row {
    row.with(|builder| {
        builder.reflector(|mut config| {
            config.max_objects = OBJECTS;
            config
        })
    })
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        with_max_bytes(lists("a list of more bytes than allowed", |_| json(many_bytes())))
            .over_limit()
            .error("max_list_bytes"),
        with_max_bytes(lists("gzip that unpacks to more bytes than allowed", |_| {
            gzipped(many_bytes().as_bytes())
        }))
        .over_limit()
        .error("max_list_bytes"),
        with_max_bytes(lists("a list of blanks of more bytes than allowed", |_| {
            let head = list_of(&objects(0)).replace("]}", "");
            let blanks = " ".repeat(32 * 1024);
            body(
                [Step::text(head)]
                    .into_iter()
                    .chain((0..32).map(move |_| Step::text(blanks.clone()))),
            )
        }))
        .fails(),
        with_max_bytes(lists("pages of fewer bytes than allowed each", |call| {
            let token = call.parameter("continue").parse().unwrap_or(0);
            let items: Vec<String> = (0..1_000)
                .map(|number| object(&format!("o-{token}-{number}"), "5"))
                .collect();
            match token {
                0..3 => json(list_at("10", &format!(r#","continue":"{}""#, token + 1), &items)),
                _ => json(list_of(&items)),
            }
        }))
        .lives(4_000),
        with_max_objects(lists("a list of more objects than allowed", |_| {
            json(list_of(&objects(OBJECTS + 1)))
        }))
        .over_limit()
        .error("max_objects"),
        with_max_objects(lists("a list of as many objects as allowed", |_| {
            json(list_of(&objects(OBJECTS)))
        }))
        .lives(OBJECTS),
        with_max_objects(lists("pages of more objects than allowed together", |call| {
            let token: usize = call.parameter("continue").parse().unwrap_or(0);
            let items: Vec<String> = (0..30)
                .map(|number| object(&format!("o-{token}-{number}"), "5"))
                .collect();
            json(list_at("10", &format!(r#","continue":"{}""#, token + 1), &items))
        }))
        // Each attempt requests four pages.
        .requests(600)
        .over_limit()
        .error("max_objects"),
        with_max_objects(lists("more objects than allowed that cannot be decoded", |_| {
            let items: Vec<String> = objects(OBJECTS + 1)
                .iter()
                .map(|item| item.replace(r#""metadata":{"#, r#""data":7,"metadata":{"#))
                .collect();
            json(list_of(&items))
        }))
        // Each attempt logs both kinds of warning.
        .warnings(300)
        .over_limit()
        .error("max_objects"),
        with_max_objects(always("an initial stream of more objects than allowed", |call| {
            let objects = objects(OBJECTS + 1);
            match call.verb {
                Verb::List => json(list_of(&objects)),
                Verb::Watch | Verb::WatchList => {
                    let frames = objects.iter().map(|object| event("ADDED", object));
                    frames_then_good(call, frames.chain([end_bookmark("10")]))
                }
            }
        }))
        // The stream and the list after it fail, and each is logged.
        .warnings(150)
        .over_limit()
        .error("max_objects"),
        lists("a list of more bytes than the cache may hold", |_| {
            json(list_of(&objects(OBJECTS)))
        })
        .with(|builder| builder.max_bytes(1_000))
        .over_limit()
        .error("max_bytes"),
        watches("a watch that adds more objects than allowed", |call| {
            let frames = objects(2 * OBJECTS)
                .into_iter()
                .map(|object| event("ADDED", &object));
            frames_then_good(call, frames)
        })
        .with(|builder| {
            builder
                .max_objects(OBJECTS)
                .queue(QueueOptions::default().capacity(1).batch(1))
        })
        .synced(true)
        .state(LimitReached)
        .error("max_objects")
        .check(|status| match status.objects {
            OBJECTS..=110 => Ok(()),
            other => Err(format!("{other} objects are cached")),
        }),
        lists("a list that trickles, a byte each second", |_| {
            let text = list_of(&objects(50));
            trickle(1, text.chars().map(String::from).collect())
        })
        .synced(false)
        .objects(0)
        .error("kilobyte of a list"),
        lists("a list that trickles, a blank each second", |_| {
            let head = list_of(&objects(0)).replace("]}", "");
            trickle(
                1,
                std::iter::once(head)
                    .chain((0..4_000).map(|_| " ".to_owned()))
                    .collect(),
            )
        })
        .synced(false)
        .objects(0)
        .error("kilobyte of a list"),
        lists("a slow list, an object every 50 seconds", |_| {
            trickle(50, slow_items())
        })
        .lives(3),
    ]
}
