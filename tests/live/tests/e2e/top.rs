//! `informer-top` in a pseudo terminal, on a real server that changes, refuses and is killed.

use std::ffi::OsStr;
use std::path::Path;

use informer_live::Cluster;
use tokio::task::block_in_place;

use self::session::{Session, kinds, words};
use crate::support::{Program, Room, options};

#[path = "../../../../informers/top/tests/terminal/session.rs"]
#[allow(dead_code, reason = "the tests of the program use all of it")]
mod session;

fn started(program: &Path, kubeconfig: &Path, arguments: &[&str]) -> Session {
    let variables: [(&str, &OsStr); 1] = [("KUBECONFIG", kubeconfig.as_os_str())];
    let every = ["--every", "0.2"];
    Session::start(program, &[&every, arguments].concat(), &variables)
}

/// The count and the changes of a kind that is live.
fn live(screen: &str, kind: &str) -> Option<(usize, usize)> {
    let words = words(screen, kind);
    let number = |place: usize| words.get(place)?.parse().ok();
    (words.last()? == "live").then_some((number(1)?, number(3)?))
}

#[tokio::test(flavor = "multi_thread")]
async fn informer_top_shows_kinds_counts_changes_and_an_outage() {
    let program = tokio::task::spawn_blocking(|| Program::Top.path()).await.unwrap();
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "top").await;
    for name in ["a", "b", "c"] {
        room.create(name, "1").await;
    }
    let kubeconfig = cluster.kubeconfig().unwrap();
    let authority = cluster.url().authority().unwrap().to_string();
    let arguments = ["-n", &room.name, "configmaps", "secrets", "pods"];
    let mut session = started(&program, &kubeconfig, &arguments);
    let shown = block_in_place(|| {
        session.until("the initial counts", |screen| {
            let live = |kind| live(screen, kind);
            live("configmaps") == Some((3, 0)) && live("secrets") == Some((0, 0)) && live("pods").is_some()
        })
    });
    assert!(
        shown.starts_with(&format!("{authority}: 3 kinds, 3 objects, ")),
        "{shown}"
    );

    room.create("d", "1").await;
    room.update("d", "2").await;
    room.delete("a").await;
    room.delete("b").await;
    block_in_place(|| {
        session.until("four changes of two objects", |screen| {
            live(screen, "configmaps") == Some((2, 4))
        });
        // What changes most comes first, and is selected.
        session.until("the changing kind first", |screen| {
            kinds(screen).first() == Some(&"configmaps")
                && screen.contains("\n configmaps ─")
                && screen.contains("live; 1 added, 1 modified, 2 deleted; lists: 1,")
        });
    });

    cluster.kill();
    block_in_place(|| {
        session.until("the outage", |screen| {
            let is_away = |kind| {
                words(screen, kind)
                    .last()
                    .is_some_and(|state| state == "unreachable")
            };
            screen.contains(", 3 failing") && ["configmaps", "secrets", "pods"].into_iter().all(is_away)
        });
        // The selected kind, with what to do.
        session.until("the reason", |screen| {
            screen.contains(&format!("cannot connect to the server: {authority}"))
        });
    });
    cluster.revive().await.unwrap();
    room.create("e", "1").await;
    block_in_place(|| {
        session.until("the recovery", |screen| {
            live(screen, "configmaps").is_some_and(|(objects, _)| objects == 3)
                && !screen.contains(" failing")
        });
        session.press("q");
        assert_eq!(session.end(), Some(0));
    });
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn informer_top_shows_every_kind_of_the_server_and_those_it_may_not_read() {
    let program = tokio::task::spawn_blocking(|| Program::Top.path()).await.unwrap();
    let mut options = options();
    options.users = vec!["stranger".to_owned()];
    let cluster = Cluster::start(options).await.unwrap();
    let room = Room::new(&cluster, "all").await;
    room.create("a", "1").await;

    let mut session = started(&program, &cluster.kubeconfig().unwrap(), &[]);
    let number = |screen: &str| -> Option<usize> {
        let (_, rest) = screen.split_once(": ")?;
        rest.split_once(" kinds, ")?.0.parse().ok()
    };
    block_in_place(|| {
        // By the number of objects, so that kinds without any, which do not fit on the screen, come last.
        session.press("2");
        let shown = session.until("many kinds, all of them live", |screen| {
            let states = kinds(screen);
            let is_live = |kind: &&str| words(screen, kind).last().is_some_and(|state| state == "live");
            screen.contains("OBJECTS▼") && states.len() > 20 && states.iter().all(is_live)
        });
        assert!(number(&shown).is_some_and(|number| number > 40), "{shown}");
        assert!(!shown.contains(" failing"), "{shown}");
        let namespaces = live(&shown, "namespaces");
        assert!(namespaces.is_some_and(|(objects, _)| objects >= 2), "{shown}");
        session.press("q");
        assert_eq!(session.end(), Some(0));
    });

    let stranger = cluster.kubeconfig_as("stranger").unwrap();
    let mut session = started(&program, &stranger, &["-n", &room.name, "configmaps"]);
    block_in_place(|| {
        let shown = session.until("a kind that may not be read", |screen| {
            words(screen, "configmaps")
                .last()
                .is_some_and(|state| state == "forbidden")
        });
        assert!(shown.contains(", 1 failing"), "{shown}");
        session.until("the right to grant", |screen| {
            let text = screen.split_whitespace().collect::<Vec<_>>().join(" ");
            text.contains("add the rule") && text.contains(&format!("to a Role in {}", room.name))
        });
        session.press("q");
        assert_eq!(session.end(), Some(0));
    });
    cluster.stop();
}
