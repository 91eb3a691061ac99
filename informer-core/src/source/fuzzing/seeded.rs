//! Runs the fuzz targets on reproducible mutations of their corpus, so that CI without nightly runs them too.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::Target;

/// The maximum length of an input. Longer ones find little and take long.
const LONGEST: usize = 4096;

/// Bytes with a meaning to one of the parsers.
const MEANINGFUL: &[u8] = b"{}[]\",:\\/\n\r \t-09aentf\x00\x1f\x8b\x08\xff\x80";

pub(super) fn run((name, target): &Target, corpus: &Path, seed: u64, iterations: u32) -> usize {
    let seeds = read(&corpus.join(name));
    let mut random = StdRng::seed_from_u64(seed);
    for (number, input) in seeds.iter().enumerate() {
        attempt(*target, input, || {
            format!("fuzz target {name}, corpus file {number}")
        });
    }
    for iteration in 0..iterations {
        let input = mutate(&seeds, &mut random);
        attempt(*target, &input, || {
            format!("fuzz target {name}, seed {seed}, iteration {iteration}")
        });
    }
    seeds.len() + iterations as usize
}

/// Reads the files of a corpus, sorted by name, so that the mutations are the same on every machine.
fn read(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("no corpus at {}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    let inputs: Vec<_> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    assert!(!inputs.is_empty(), "the corpus at {} is empty", folder.display());
    inputs
}

fn attempt(target: fn(&[u8]), input: &[u8], describe: impl Fn() -> String) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        tracing::error!(input = %input.escape_ascii(), "{} broke an invariant", describe());
        let text = panic.downcast_ref::<String>().map(String::as_str);
        match text.or_else(|| panic.downcast_ref::<&str>().copied()) {
            Some(text) => panic!("{}: {text}\ninput: {}", describe(), input.escape_ascii()),
            None => resume_unwind(panic),
        }
    }
}

fn mutate(seeds: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut input = seeds[random.random_range(0..seeds.len())].clone();
    for _ in 0..random.random_range(1..=8) {
        let at = random.random_range(0..=input.len());
        let length = random.random_range(0..=(input.len() - at).min(64));
        match random.random_range(0..7) {
            0 => input.insert(at, MEANINGFUL[random.random_range(0..MEANINGFUL.len())]),
            1 => input.insert(at, random.random()),
            2 => drop(input.drain(at..at + length)),
            3 => {
                let copy = input[at..at + length].to_vec();
                input.splice(at..at, copy);
            }
            4 => input.truncate(at),
            5 => {
                let other = &seeds[random.random_range(0..seeds.len())];
                let from = random.random_range(0..=other.len());
                input.splice(at..at + length, other[from..].iter().copied().take(256));
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.random_range(0..8);
                }
            }
        }
    }
    input.truncate(LONGEST);
    input
}
