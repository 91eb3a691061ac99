//! The fuzz targets on stable: the same functions and the same corpus, mutated from fixed seeds for a few
//! seconds.

use std::path::Path;

use informer_core::source::fuzzing::{TARGETS, run_seeded};

const ITERATIONS: u32 = 2_000;

fn corpus() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../informer-core/fuzz/corpus"
    ))
}

#[test]
fn mutations_of_the_corpus_break_no_invariant() {
    let inputs = run_seeded(corpus(), 1, ITERATIONS);
    assert!(
        inputs > TARGETS.len() * ITERATIONS as usize,
        "only {inputs} inputs were run"
    );
}

/// Every target has a corpus, and every corpus a target.
#[test]
fn every_target_has_its_corpus() {
    let mut folders: Vec<String> = std::fs::read_dir(corpus())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let mut targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    targets.sort_unstable();
    assert_eq!(folders, targets);
}
