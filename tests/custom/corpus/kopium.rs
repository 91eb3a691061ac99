//! Fuzzed round trips of the types that kopium generates for the corpus, for `docs/from-kopium.md`.
//!
//! The [`Program`] executes kopium's text as it does the generator's. The type of the object itself, which
//! kube's derive adds, is declared here as the derive declares it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::interpreter::Program;
use super::{Subject, corpus, manifests, project};
use informer_testing::structural::{Fuzzer, Variation, differences, prune};

/// Objects per version and variation.
const OBJECTS: usize = 5;

/// What became of the objects of one variation.
#[derive(Clone, Default)]
struct Counts {
    objects: usize,
    without_spec: usize,
    unread: usize,
    changed: usize,
}

impl Counts {
    /// An object without a spec is counted apart: kube's derive requires one, most schemas do not, and real
    /// objects have one.
    fn add(&mut self, object: &Value, outcome: &Outcome) {
        if object.get("spec").is_none() {
            self.without_spec += 1;
            return;
        }
        self.objects += 1;
        self.unread += usize::from(matches!(outcome, Outcome::Unread(_)));
        self.changed += usize::from(matches!(outcome, Outcome::Changed(_)));
    }
}

/// What became of an object.
enum Outcome {
    Same,
    Changed(String),
    Unread(String),
}

/// Reads and writes an object of a server.
fn outcome(program: &Program, subject: &Subject, object: &Value) -> Outcome {
    match program.pass(&subject.module, &subject.api_version, &subject.kind, object) {
        Err(error) => Outcome::Unread(error),
        Ok(written) => match differences(object, &written, &subject.schema).into_iter().next() {
            None => Outcome::Same,
            Some(difference) => Outcome::Changed(difference),
        },
    }
}

/// The text of a version by kopium, with the type of the object; `None` if kopium generates none, as for
/// definitions without a spec.
fn generated(kopium: &str, definition: &Path, subject: &Subject) -> Option<String> {
    let version = subject.api_version.rsplit('/').next()?;
    let mut command = Command::new(kopium);
    command.arg("-f").arg(definition).args(["--api-version", version]);
    let ran = command.output().expect("kopium can be started");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("the text is UTF-8");
    let spec = text
        .lines()
        .skip_while(|line| !line.starts_with("#[kube(group"))
        .find_map(|line| line.strip_prefix("pub struct "))?
        .trim_end_matches(" {");
    let status = text
        .lines()
        .find_map(|line| line.strip_prefix("#[kube(status = \""));
    let status = status.map(|line| {
        let type_ = line.trim_end_matches("\")]");
        format!("#[serde(skip_serializing_if = \"Option::is_none\")] pub status: Option<{type_}>,")
    });
    let name = informer_gen::crd::types::type_name(&subject.kind).expect("the kind is a type");
    let root = format!(
        "pub struct {name} {{\n    #[serde(default)]\n    \
         pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,\n    \
         pub spec: {spec},\n    {}\n}}\n",
        status.unwrap_or_default()
    );
    // The names of the prelude, without its module.
    let text = text
        .replacen("mod prelude {", "", 1)
        .replacen("}\n\nuse self::prelude::*;", "", 1);
    Some(text + &root)
}

/// `KOPIUM=kopium cargo test --workspace --test corpus kopium -- --ignored --nocapture`
#[test]
#[ignore = "needs kopium, whose path is in KOPIUM: `cargo install kopium --locked --version 0.24.1`"]
fn kopium_reads_and_writes_fewer_of_the_same_objects() {
    let kopium = std::env::var("KOPIUM").expect("KOPIUM is the path of kopium");
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("definition-for-kopium.json");
    let mut figures = vec![(Counts::default(), Counts::default()); Variation::ALL.len()];
    let mut causes: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut versions, mut without_type) = (0, 0);
    for path in corpus() {
        let (ours, subjects) = project(&path);
        let text = std::fs::read_to_string(&path).expect("the file is readable");
        let manifests = manifests(&text);
        for (seed, subject) in subjects.iter().enumerate() {
            let group = subject.api_version.split('/').next().unwrap_or_default();
            let is_of = |one: &&Value| {
                one["spec"]["group"] == group && one["spec"]["names"]["kind"] == subject.kind.as_str()
            };
            let manifest = manifests.iter().find(is_of).expect("it was read");
            std::fs::write(&input, manifest.to_string()).expect("the file can be written");
            versions += 1;
            let Some(text) = generated(&kopium, &input, subject) else {
                without_type += 1;
                continue;
            };
            let module = format!("{}.rs", subject.module.replace("::", "/"));
            let theirs = Program::new(&BTreeMap::from([(module, text)]));
            let mut fuzzer = Fuzzer::new(seed as u64);
            for (variation, (their_counts, our_counts)) in Variation::ALL.into_iter().zip(&mut figures) {
                for _ in 0..OBJECTS {
                    let mut object =
                        fuzzer.object(&subject.api_version, &subject.kind, &subject.schema, variation);
                    prune(&mut object, &subject.schema);
                    let outcome_of_kopium = outcome(&theirs, subject, &object);
                    if let (Variation::Valid, Some((cause, example))) = (variation, cause(&outcome_of_kopium))
                    {
                        let example = format!("{} {}: {example}", subject.api_version, subject.kind);
                        causes.entry(cause).or_insert((0, example)).0 += 1;
                    }
                    their_counts.add(&object, &outcome_of_kopium);
                    our_counts.add(&object, &outcome(&ours, subject, &object));
                }
            }
        }
    }
    println!("{versions} versions, {without_type} of them without a type of the object by kopium");
    println!("| objects | | kopium cannot read | changes | `informer-gen crd` cannot read | changes |");
    println!("|---|---|---|---|---|---|");
    for (variation, (theirs, ours)) in Variation::ALL.into_iter().zip(&figures) {
        println!(
            "| {variation:?} | {} | {} | {} | {} | {} |",
            theirs.objects, theirs.unread, theirs.changed, ours.unread, ours.changed
        );
    }
    let without: Vec<usize> = figures.iter().map(|(theirs, _)| theirs.without_spec).collect();
    println!("and objects without a spec, which kopium's types cannot read: {without:?}");
    println!("the first problem of kopium in valid objects:");
    let mut causes: Vec<(String, (usize, String))> = causes.into_iter().collect();
    causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (cause, (count, example)) in causes {
        println!("{count}: {cause}, such as {example}");
    }
    let losses = figures.iter().map(|(_, ours)| ours.unread + ours.changed);
    assert_eq!(losses.sum::<usize>(), 0, "the generator's types lose nothing");
}

/// The kind of a problem, without names, and the problem.
fn cause(outcome: &Outcome) -> Option<(String, &str)> {
    let (verb, problem) = match outcome {
        Outcome::Same => return None,
        Outcome::Changed(text) => ("changed", text),
        Outcome::Unread(text) => ("not read", text),
    };
    let text = match problem.rsplit(": ").next().unwrap_or(problem) {
        _ if problem == "spec: missing" => "an object without a spec",
        "missing" => "a required field is missing",
        rest if rest.contains("is no variant") => "a value that the enum does not have",
        rest if rest.contains("null") => "null where the schema allows it",
        rest if rest.ends_with("was lost") && !rest.contains('.') => "a field beside the spec was lost",
        // The fuzzer's names of fields that a schema preserves.
        rest if [".preserved was lost", ".a was lost", ".b was lost"]
            .iter()
            .any(|end| rest.ends_with(end)) =>
        {
            "an unknown field that the schema preserves was lost"
        }
        rest if rest.ends_with("was lost") => "a field was lost",
        rest if rest.ends_with("was added") => "a field was added",
        rest if rest.ends_with("was changed") => "a value was changed",
        rest => rest,
    };
    Some((format!("{verb}: {text}"), problem))
}
