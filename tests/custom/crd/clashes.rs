//! Kinds named like an item that generated code uses (`Vec`, `Option`, ..): the generated modules compile.
//!
//! informer-gen keeps their text as one snapshot and a table of differences, so the modules are generated
//! again here and compiled as one file, together with the files in `ui`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use informer_gen::crd::definition::Definition;
use informer_gen::crd::types::types;

const TABLE: &str = include_str!("../../../informer-gen/tests/crd/clash.txt");
const DEFINITION: &str = include_str!("../../../informer-gen/tests/crd/clash.yaml");

/// The beginning of the file, with the only error in it. trybuild builds a program that must compile, with
/// all its dependencies, but only checks one that must not. The type checker finds this error, and any in the
/// modules.
const HEAD: &str = "#![allow(dead_code)]
const CHECKED: () = true;
fn main() {}
";

/// Writes the file, and beside it the expected compiler output.
pub(crate) fn write() -> PathBuf {
    let mut definition: Definition = serde_saphyr::from_str(DEFINITION).unwrap();
    let mut source = HEAD.to_owned();
    for kind in TABLE.lines().filter_map(|line| line.strip_prefix("kind ")) {
        definition.kind = kind.to_owned();
        let text = types(&definition, &definition.versions[0]).unwrap();
        writeln!(source, "mod clash_{} {{\n{text}}}", kind.to_lowercase()).unwrap();
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clashes.rs");
    std::fs::write(&file, source).unwrap();
    let expected = format!(
        "error[E0308]: mismatched types
 --> {}:2:21
  |
2 | const CHECKED: () = true;
  |                     ^^^^ expected `()`, found `bool`
",
        file.display()
    );
    std::fs::write(file.with_extension("stderr"), expected).unwrap();
    file
}
