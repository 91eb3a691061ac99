//! The examples stay small enough to be read and copied.

use std::path::Path;

/// The most columns of a line.
const MOST_COLUMNS: usize = 110;

/// The most lines an example may have, blank lines and comments included.
fn limit(name: &str) -> usize {
    match name {
        "quickstart" => 90,
        "operator" => 250,
        _ => 150,
    }
}

#[test]
fn each_example_is_one_short_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    assert!(files.len() >= 6, "{files:?}");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let lines = text.lines().count();
        assert!(lines <= limit(name), "{name} has {lines} lines");
        for (number, line) in (1..).zip(text.lines()) {
            assert!(
                line.chars().count() <= MOST_COLUMNS,
                "{name}, line {number} is too long"
            );
        }
    }
}
