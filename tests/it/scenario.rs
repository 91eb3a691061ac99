//! Plays every script of `tests/scenarios`: what the server sends, then the events of the handlers and the
//! contents of the store.
//!
//! The language is described in `tests/scenarios/README.md`. With `UPDATE=1` in the environment the
//! expectations are rewritten to what happened; look at the difference before you keep it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::scenario_script::{Line, Step};
use super::scenario_setup::Setup;

#[test]
fn every_scenario_plays_out_as_written() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut failures = String::new();
    let scripts = scripts();
    assert!(scripts.len() >= 20, "the scenarios are gone: {scripts:?}");
    for path in scripts {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let text = std::fs::read_to_string(&path).expect("a script can be read");
        match play(&text) {
            Ok(played) if played == text => {}
            Ok(played) if update => std::fs::write(&path, played).expect("a script can be written"),
            Ok(played) => {
                let _ = writeln!(failures, "\n{name}\n{}", difference(&text, &played));
            }
            Err(error) => {
                let _ = writeln!(failures, "\n{name}\n{error}");
            }
        }
    }
    assert!(
        failures.is_empty(),
        "scenarios that play out differently (UPDATE=1 rewrites their expectations):\n{failures}"
    );
}

/// Plays one script and gives it back with its expectations as they turned out.
fn play(text: &str) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let mut setup: Option<Setup> = None;
        let mut played = String::new();
        for (index, raw) in text.lines().enumerate() {
            let at = |error: String| format!("line {}: {error}\n    {raw}", index + 1);
            let line = Line::parse(raw).map_err(at)?;
            match line.step {
                Step::Nothing => played.push_str(raw),
                Step::Informer(settings) if setup.is_none() => {
                    setup = Some(Setup::open(&settings));
                    played.push_str(raw);
                }
                Step::Informer(_) => return Err(at("`informer` can only be the first step".to_owned())),
                Step::Act(action) => {
                    let setup = setup.get_or_insert_with(|| Setup::open(&Default::default()));
                    setup.act(line.scope, action).await.map_err(at)?;
                    played.push_str(raw);
                }
                Step::Look(question) => {
                    let setup = setup.get_or_insert_with(|| Setup::open(&Default::default()));
                    let seen = setup.look(line.scope, question).await.map_err(at)?;
                    played.push_str(&line.with_answer(&seen));
                }
            }
            played.push('\n');
        }
        match setup {
            Some(mut setup) => setup.close().await.map(|()| played),
            None => Err("the script does nothing".to_owned()),
        }
    })
}

/// The lines that differ; a played script has the same lines in the same places.
fn difference(written: &str, played: &str) -> String {
    let mut difference = String::new();
    for (index, (written, played)) in written.lines().zip(played.lines()).enumerate() {
        if written != played {
            let number = index + 1;
            let _ = writeln!(difference, "{number:4} - {written}\n{number:4} + {played}");
        }
    }
    difference
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut scripts: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of scenarios is there")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    scripts.sort();
    scripts
}

#[test]
fn a_wrong_expectation_is_shown_as_a_difference() {
    let text = "list rv=5 pod/a@1\nexpect add(initial) b@1\nstore      a@2\n";
    let played = play(text).unwrap();
    assert_eq!(
        difference(text, &played),
        concat!(
            "   2 - expect add(initial) b@1\n",
            "   2 + expect add(initial) a@1\n",
            "   3 - store      a@2\n",
            "   3 + store      a@1\n",
        )
    );
}

#[test]
fn what_a_script_leaves_out_or_gets_wrong_is_an_error() {
    for (text, error) in [
        (
            "list rv=5 pod/a@1\n",
            "the script ends, but `main` also received: add(initial) a@1",
        ),
        (
            "watch add a@1\n",
            "line 1: the informer requested `list any limit 500`, not a watch\n    watch add a@1",
        ),
        ("lits rv=5\n", "line 1: there is no step `lits`\n    lits rv=5"),
        (
            "list pod/a@1\n",
            "line 1: a list needs its version: `rv=5`\n    list pod/a@1",
        ),
        ("", "the script does nothing"),
    ] {
        assert_eq!(play(text), Err(error.to_owned()), "{text:?}");
    }
}
