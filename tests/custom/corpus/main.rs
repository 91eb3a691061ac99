//! Fuzzed round trips of every definition in `tests/corpus`, through the text of the generated types.
//!
//! Compiling the types of hundreds of definitions takes minutes, so the [`interpreter`] executes the
//! generated text instead: it reads the structs, enums and serde attributes, and decodes and encodes as serde
//! would. A test compares it with the compiled types of this crate. `cargo xtask crd --proof tests/corpus`
//! compiles everything and runs random objects of the same kind.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails; a comparison prints its result"
)]

mod interpreter;
mod kopium;
mod natives;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use informer_gen::crd::{self, Found, TreeOptions};
use informer_testing::structural::{Fuzzer, Variation, differences, prune};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::interpreter::Program;

/// Objects per version and variation.
const OBJECTS: u64 = 1;

/// The corpus is tested in parts, which run at the same time.
const PARTS: usize = 4;

/// One version of a kind, with its schema as JSON.
struct Subject {
    api_version: String,
    kind: String,
    /// The module of its types in a generated tree.
    module: String,
    schema: Value,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The definitions of a file, and the program of the types that are generated from it.
fn project(path: &Path) -> (Program, Vec<Subject>) {
    let text = std::fs::read_to_string(path).expect("the file is readable");
    let reading = crd::read(&path.display().to_string(), &text).expect("the definitions are valid");
    let tree = crd::tree(&reading.found, &TreeOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let manifests = manifests(&text);
    let subjects = tree.kinds.iter().map(|generated| {
        let is_of = |found: &&Found| {
            let of_group = generated.api_version.split('/').next() == Some(&found.definition.group);
            of_group && found.definition.kind == generated.kind
        };
        let found = reading.found.iter().find(is_of).expect("it was read");
        let name = found.definition.name();
        let manifest = manifests
            .iter()
            .find(|one| one["metadata"]["name"] == name.as_str());
        let versions = manifest
            .and_then(|one| one["spec"]["versions"].as_array())
            .into_iter()
            .flatten();
        let of_version =
            |version: &&Value| generated.api_version.ends_with(&format!("/{}", text_of(version)));
        let version = versions.into_iter().find(of_version).expect("the version exists");
        Subject {
            api_version: generated.api_version.clone(),
            kind: generated.kind.clone(),
            module: generated.path.trim_end_matches(".rs").replace('/', "::"),
            schema: version["schema"]["openAPIV3Schema"].clone(),
        }
    });
    let subjects = subjects.collect();
    (Program::new(&tree.files), subjects)
}

fn text_of(version: &Value) -> &str {
    version["name"].as_str().unwrap_or_default()
}

/// The definitions as JSON.
fn manifests(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("the text is valid");
    let items = |document: Value| match document["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![document],
    };
    documents.into_iter().flat_map(items).collect()
}

/// Checks one object in both directions. A server's object is written as it was read; an object that no
/// server would return, with null and unknown properties, is written so that a server keeps the same.
fn check(
    subject: &Subject,
    object: &Value,
    pass: impl Fn(&Value) -> Result<Value, String>,
) -> Result<(), String> {
    let mut pruned = object.clone();
    prune(&mut pruned, &subject.schema);
    for read in [&pruned, object] {
        let mut written = pass(read)?;
        if read == &pruned {
            let found = differences(&pruned, &written, &subject.schema);
            if !found.is_empty() {
                return Err(found.join(", "));
            }
            // What is written is read as the same object.
            if pass(&written)? != written {
                return Err("it is written differently the second time".to_owned());
            }
        }
        prune(&mut written, &subject.schema);
        let found = differences(&pruned, &written, &subject.schema);
        if !found.is_empty() {
            return Err(format!("of an object that is not pruned, {}", found.join(", ")));
        }
    }
    Ok(())
}

#[test]
fn fuzzed_objects_of_the_corpus_are_written_as_they_were_read() {
    check_part(0);
}

#[test]
fn fuzzed_objects_of_the_second_part_are_written_as_they_were_read() {
    check_part(1);
}

#[test]
fn fuzzed_objects_of_the_third_part_are_written_as_they_were_read() {
    check_part(2);
}

#[test]
fn fuzzed_objects_of_the_fourth_part_are_written_as_they_were_read() {
    check_part(3);
}

#[test]
fn the_corpus_has_a_hundred_definitions_of_fifteen_projects() {
    let paths = corpus();
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("the file is readable");
    let definitions: usize = paths
        .iter()
        .map(|path| text(path).matches("\"openAPIV3Schema\"").count())
        .sum();
    assert!(
        paths.len() >= 15 && definitions >= 100,
        "{} projects, {definitions} versions",
        paths.len()
    );
}

/// The files of the corpus, sorted.
fn corpus() -> Vec<PathBuf> {
    let folder = workspace().join("tests/corpus");
    let entries = std::fs::read_dir(&folder).expect("the corpus exists");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it is readable").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

/// Checks every fourth project, beginning with one of the first four.
fn check_part(part: usize) {
    let paths: Vec<PathBuf> = corpus().into_iter().skip(part).step_by(PARTS).collect();
    let mut failures = Vec::new();
    for path in &paths {
        let (program, subjects) = project(path);
        for (seed, subject) in subjects.iter().enumerate() {
            let pass =
                |object: &Value| program.pass(&subject.module, &subject.api_version, &subject.kind, object);
            let mut fuzzer = Fuzzer::new(seed as u64);
            for variation in Variation::ALL {
                for _ in 0..OBJECTS {
                    let object =
                        fuzzer.object(&subject.api_version, &subject.kind, &subject.schema, variation);
                    if let Err(problem) = check(subject, &object, pass) {
                        failures.push(format!(
                            "{} {}, {variation:?}: {problem}",
                            subject.api_version, subject.kind
                        ));
                        break;
                    }
                }
            }
        }
    }
    let all = failures.len();
    failures.truncate(20);
    assert!(
        failures.is_empty(),
        "{all} failures, such as:\n{}",
        failures.join("\n")
    );
}

/// `CORPUS_PROGRAM=/path/to/informer-gen cargo test --workspace --test corpus another -- --ignored --nocapture`
#[test]
#[ignore = "needs another version of the program, in CORPUS_PROGRAM"]
fn another_program_loses_no_less_of_the_same_objects() {
    let other = std::env::var("CORPUS_PROGRAM").expect("CORPUS_PROGRAM is the path of a program");
    let (mut objects, mut theirs, mut ours, mut worse) = (0, 0, 0, Vec::new());
    for path in corpus() {
        let (program, subjects) = project(&path);
        let other = Program::new(&generated_by(&other, &path));
        for (seed, subject) in subjects.iter().enumerate() {
            let with = |program: &Program, object: &Value| {
                let pass = |object: &Value| {
                    program.pass(&subject.module, &subject.api_version, &subject.kind, object)
                };
                check(subject, object, pass).is_err()
            };
            let mut fuzzer = Fuzzer::new(seed as u64);
            for variation in Variation::ALL.into_iter().cycle().take(5 * Variation::ALL.len()) {
                let object = fuzzer.object(&subject.api_version, &subject.kind, &subject.schema, variation);
                let (is_theirs, is_ours) = (with(&other, &object), with(&program, &object));
                objects += 1;
                theirs += usize::from(is_theirs);
                ours += usize::from(is_ours);
                if is_ours && !is_theirs {
                    worse.push(format!("{} {}, {variation:?}", subject.api_version, subject.kind));
                }
            }
        }
    }
    println!("{objects} objects: the other program changes {theirs}, this one {ours}");
    assert!(worse.is_empty(), "{} are worse: {:?}", worse.len(), worse.first());
}

/// The files that a program writes for the definitions in a file, by path.
fn generated_by(program: &str, definitions: &Path) -> BTreeMap<String, String> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus-of-another-program");
    let _absent = std::fs::remove_dir_all(&out);
    let mut command = std::process::Command::new(program);
    command
        .args(["crd", "-f"])
        .arg(definitions)
        .arg("--out")
        .arg(&out);
    let ran = command.output().expect("the program can be started");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (mut files, mut folders) = (BTreeMap::new(), vec![out.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("it is readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("the file is readable");
            let name = path.strip_prefix(&out).expect("it is below the folder");
            files.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    files
}

/// Compares the interpreter with a compiled type on objects of every variation, and on objects with values of
/// wrong types.
fn compare<K: DeserializeOwned + Serialize>(program: &Program, subject: &Subject) -> usize {
    let mut fuzzer = Fuzzer::new(11);
    let mut rejected = 0;
    for round in 0..40 {
        for variation in Variation::ALL {
            let mut object = fuzzer.object(&subject.api_version, &subject.kind, &subject.schema, variation);
            if round % 4 == 3 {
                spoil(&mut object, round);
            }
            let interpreted = program.pass(&subject.module, &subject.api_version, &subject.kind, &object);
            let compiled: Result<K, _> = serde_json::from_value(object.clone());
            match (interpreted, compiled) {
                (Ok(interpreted), Ok(compiled)) => {
                    let compiled = serde_json::to_value(compiled).expect("the object can be encoded");
                    assert_eq!(interpreted, compiled, "{} of {object}", subject.kind);
                }
                (Err(_), Err(_)) => rejected += 1,
                (interpreted, compiled) => {
                    let compiled = compiled.map(|_| ());
                    panic!(
                        "{}: {interpreted:?}, but compiled {compiled:?}: {object}",
                        subject.kind
                    )
                }
            }
        }
    }
    rejected
}

/// Replaces a value of the spec by one of another type.
fn spoil(object: &mut Value, round: usize) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let place = (round * 7) % spec.len().max(1);
    if let Some((_, value)) = spec.iter_mut().nth(place) {
        *value = match value {
            Value::Number(_) | Value::Bool(_) => "text".into(),
            _ => 1.5.into(),
        };
    }
}

#[test]
fn the_interpreter_does_what_the_compiled_types_do() {
    use informer_custom::{example_com, odd_names_example_com};

    let folder = workspace().join("informer-gen/tests/crd");
    let mut rejected = 0;
    for name in ["described", "loose", "names", "nullable", "open", "widget"] {
        let (program, subjects) = project(&folder.join(format!("{name}.yaml")));
        for subject in &subjects {
            rejected += match subject.kind.as_str() {
                "Described" => compare::<example_com::v1::Described>(&program, subject),
                "Loose" => compare::<example_com::v1alpha1::Loose>(&program, subject),
                "odd-ity" => compare::<odd_names_example_com::v1::OddIty>(&program, subject),
                "Nullable" => compare::<example_com::v1beta1::Nullable>(&program, subject),
                "Open" => compare::<example_com::v1::Open>(&program, subject),
                "Widget" => compare::<example_com::v1::Widget>(&program, subject),
                other => panic!("no type for {other}"),
            };
        }
    }
    assert!(rejected > 20, "only {rejected} objects were rejected by both");
}
