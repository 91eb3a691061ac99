//! Informers against hostile and broken servers: a table of server behaviours with the expected result of
//! each.
//!
//! A row has a server that misbehaves, and the expected behaviour of an informer meanwhile: its state, last
//! error, cached objects, number of requests, log lines and memory, and that other tasks keep running. Then
//! the server becomes healthy, and the cache must become equal to it.
//! A panic or an informer that never recovers fails its row.
//!
//! To add a row, find its file in `rows/` and add one element to the table there:
//!
//! ```text
//! lists("a list that ends in the middle", |_| json(&GOOD_LIST[..40]))
//!     .state(BackingOff)
//!     .error("ended before")
//!     .objects(0),
//! ```
//!
//! - The server is a function from a request to an answer: `lists`, `watches`, `initial` and `always` select
//!   the requests it answers; the others get good answers. `script.rs` has the answers, `bodies.rs` the
//!   texts.
//! - Expectations that a row does not state have defaults, in `row.rs`: every row has bounds for requests,
//!   warnings and memory. State a larger bound only with the reason.
//! - Rows run on the paused clock: an hour takes no longer than its requests. A body that never ends must
//!   wait between its chunks. Rows about bytes of HTTP itself are in `rows/sockets.rs` and
//!   `rows/http2.rs`, on sockets and in real time, and need to be quick.
//! - `HOSTILE=<part of a name> cargo test -p informer-hostile` runs the rows with this in their names, and
//!   prints what was measured.

mod bodies;
mod observe;
mod row;
mod rows;
mod run;
mod script;
mod tcp;
mod tls;

#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

macro_rules! tables {
    ($($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                run::table(stringify!($name), rows::$name::rows);
            }
        )+

        /// The audit that this suite is based on had about 140 behaviours.
        #[test]
        fn names_are_unique_and_rows_many() {
            let _turn = run::turn();
            let rows = [$(rows::$name::rows()),+].into_iter().flatten();
            let names: Vec<String> = rows.map(|row| row.name).collect();
            let unique: std::collections::BTreeSet<&String> = names.iter().collect();
            assert_eq!(names.len(), unique.len(), "two rows have one name");
            assert!(names.len() >= 140, "{} rows", names.len());
        }
    };
}

tables!(
    alternating,
    connections,
    encodings,
    identities,
    initial_streams,
    json,
    pages,
    protobuf,
    scopes,
    sizes,
    statuses,
    versions,
    watches,
);

/// Rows on sockets, in real time.
#[test]
fn sockets() {
    tcp::table("sockets", rows::sockets::rows, tcp::run);
}

/// Rows of HTTP/2 on sockets, in real time.
#[test]
fn http2() {
    tcp::table("http2", rows::http2::rows, tls::run);
}
