//! `cargo xtask bloat`: checks that the typed layer costs little, although it names a hundred kinds.
//!
//! If a generated function were compiled in the library instead of in the program that calls it, the library
//! would contain an informer for each kind and be a hundred times as large. So its size has a limit, and so
//! have the lines per kind. The time to compile a small program is printed without a limit, because it
//! depends on the machine.

mod compile;
mod lines;

use crate::Result;

/// The largest `informers` library, in bytes, in the dev profile with every group.
const MAX_LIBRARY: u64 = 5_000_000;
/// The most lines of generated source that one kind may need.
const MAX_LINES: usize = 20;

/// Prints the numbers; fails if one is above its limit.
pub(crate) fn run() -> Result<()> {
    report().map(drop)
}

/// Like [`run`], and returns the numbers in one line.
pub(crate) fn report() -> Result<String> {
    let lines = lines::measure()?;
    println!("{lines}");
    let (library, size) = compile::library()?;
    println!(
        "library: {} has {} kB, at most {} allowed",
        library.display(),
        size / 1000,
        MAX_LIBRARY / 1000
    );
    let (ours, theirs) = compile::times()?;
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "compiling a program over Pods: {:.2} s with informers, {:.2} s with kube::Api, ratio {ratio:.2}",
        ours.as_secs_f64(),
        theirs.as_secs_f64()
    );
    if size > MAX_LIBRARY {
        return Err(
            "the informers library is too large; make generated functions generic or `#[inline]`".into(),
        );
    }
    if lines.largest.lines > MAX_LINES {
        return Err(format!(
            "{} needs {} lines of generated source, more than {MAX_LINES}",
            lines.largest.kind, lines.largest.lines
        )
        .into());
    }
    Ok(format!(
        "{} kB; at most {} lines a kind; Pods: {:.2} s, {ratio:.2} times kube's",
        size / 1000,
        lines.largest.lines,
        ours.as_secs_f64()
    ))
}
