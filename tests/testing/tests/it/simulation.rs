//! Random faults do not corrupt data: a simple client that applies every stream has the right state at every
//! end bookmark.

use std::collections::BTreeMap;

use informer_testing::{ApiServer, Fault, Profile};
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, Lines, config_map};

/// Names and versions of all config maps.
type View = BTreeMap<String, String>;

/// The server, and its state after each revision.
struct World {
    server: ApiServer,
    past: BTreeMap<String, View>,
    view: View,
    written: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let server = ApiServer::builder().seed(seed).start();
        server.faults().random(seed, Profile::mild());
        let past = BTreeMap::from([(server.resource_version(), View::new())]);
        Self {
            server,
            past,
            view: View::new(),
            written: 0,
        }
    }

    /// One write. Name and operation come from a counter, so that every run is the same.
    fn write(&mut self) {
        self.written += 1;
        let name = format!("m{}", self.written * 7 % 5);
        let mut object = config_map(&name);
        object["data"] = json!({ "n": self.written.to_string(), "text": "größer" });
        if self.view.contains_key(&name) && self.written.is_multiple_of(3) {
            self.server.delete(&object).unwrap();
            self.view.remove(&name);
        } else {
            let stored = match self.view.contains_key(&name) {
                true => self.server.update(&object).unwrap(),
                false => self.server.create(&object).unwrap(),
            };
            let version = stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
            self.view.insert(name, version);
        }
        self.past
            .insert(self.server.resource_version(), self.view.clone());
    }
}

fn apply(view: &mut View, event: &Value) {
    let metadata = &event["object"]["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap().to_owned();
    match event["type"].as_str() {
        Some("ADDED" | "MODIFIED") => drop(view.insert(text("name"), text("resourceVersion"))),
        Some("DELETED") => drop(view.remove(&text("name"))),
        other => panic!("not an event of an object: {other:?}"),
    }
}

/// The number of bookmarks at which the state was right, and wrong.
#[derive(Debug, Default)]
struct Verdict {
    right: usize,
    wrong: usize,
}

/// Reads one stream until it ends or fails, and compares the state at every bookmark.
async fn follow(world: &mut World, verdict: &mut Verdict) {
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let uri = format!("{CONFIG_MAPS}?{query}&timeoutSeconds=120");
    let headers = [("accept-encoding", "gzip")];
    let Some(mut lines) = Lines::try_open(&world.server, &uri, &headers).await else {
        return;
    };
    let mut view = View::new();
    // A new stream after 50 events: most faults affect the initial state.
    for _ in 0..50 {
        world.write();
        match lines.try_next().await {
            Ok(Some(event)) if event["type"] == "BOOKMARK" => {
                let version = event["object"]["metadata"]["resourceVersion"].as_str().unwrap();
                match Some(&view) == world.past.get(version) {
                    true => verdict.right += 1,
                    false => verdict.wrong += 1,
                }
            }
            Ok(Some(event)) if event["type"] != "ERROR" => apply(&mut view, &event),
            _ => return,
        }
    }
}

async fn run(mut world: World) -> Verdict {
    let mut verdict = Verdict::default();
    for _ in 0..20 {
        world.write();
        follow(&mut world, &mut verdict).await;
    }
    verdict
}

#[tokio::test(start_paused = true)]
async fn a_plain_client_is_right_at_every_bookmark_under_random_faults() {
    for seed in 0..6 {
        let verdict = run(World::new(seed)).await;
        assert!(
            verdict.right > 3 && verdict.wrong == 0,
            "seed {seed}: {verdict:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_client_notices_lost_events() {
    let world = World::new(0);
    world
        .server
        .faults()
        .add(Fault::DropEvents { after: 1, count: 1 });
    let verdict = run(world).await;
    assert!(verdict.wrong > 3, "{verdict:?}");
}
