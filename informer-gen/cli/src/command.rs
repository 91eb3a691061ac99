//! The command `informer-gen crd`.

mod drift;
mod select;

use std::path::PathBuf;

use informer_gen::crd::{
    self, Extra, GeneratedKind, Informers, MapType, RECORD, Reading, Record, Reuse, Root, SharedTypes, Style,
    Tree, TreeOptions, Types,
};

use crate::args::{Crd, Docs, MapArg, StyleArgs};
use crate::output::{ChangeKind, Plan};
use crate::{Console, Error, sources};

/// What to do with the generated files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Write,
    DryRun,
    Check,
}

/// The form of the output.
enum Target {
    /// A folder with the files of a tree.
    Folder,
    /// One file.
    File(PathBuf),
    /// One file, on the standard output.
    Printed,
}

impl Target {
    fn of(arguments: &Crd) -> Result<Self, Error> {
        let target = match &arguments.out {
            Some(out) if out.as_os_str() == "-" => Self::Printed,
            Some(out) if out.extension().is_some_and(|extension| extension == "rs") && !out.is_dir() => {
                Self::File(out.clone())
            }
            _ => return Ok(Self::Folder),
        };
        let is_of_cluster = arguments.check && arguments.cluster;
        let is_printed = matches!(target, Self::Printed);
        let problem = match () {
            () if arguments.crate_name.is_some() => "--crate needs a folder",
            () if is_of_cluster => "--check --cluster reads the record of a module tree",
            () if is_printed && (arguments.check || arguments.dry_run) => "--check and --dry-run need a path",
            () => return Ok(target),
        };
        let out = arguments.out.clone().unwrap_or_default();
        Err(Error::OneFile { out, problem })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Crd, console: &mut Console<'_>) -> Result<(), Error> {
    let target = Target::of(arguments)?;
    if arguments.check && arguments.cluster {
        return drift::check(arguments, console);
    }
    let mode = match (arguments.check, arguments.dry_run) {
        (true, _) => Mode::Check,
        (_, true) => Mode::DryRun,
        _ => Mode::Write,
    };
    let options = options(arguments);
    if let Root::Crate(name) = &options.root {
        // The name becomes a part of paths, so it is checked first.
        crd::check_crate_name(name)?;
    }
    check_root(arguments)?;
    let origin = origin(arguments);
    let mut reading = read(arguments, console)?;
    select::select(&mut reading, arguments, &origin)?;
    let tree = crd::tree(&reading.found, &options)?;
    let plan = match &target {
        Target::Folder => Plan::new(&root(arguments), &tree.files, tree.folder)?,
        Target::File(path) => Plan::of_file(path, &crd::single_file(&tree))?,
        Target::Printed => {
            console.output.write_all(crd::single_file(&tree).as_bytes())?;
            return Ok(());
        }
    };
    let passed_over = reading.passed_over + reading.not_objects;
    match mode {
        Mode::Write => {
            plan.apply()?;
            say_written(arguments, &tree, &plan, passed_over, console)
        }
        Mode::DryRun => say_plan(arguments, &tree, &plan, console),
        Mode::Check => check(arguments, &tree, &plan, console),
    }
}

fn read(arguments: &Crd, console: &mut Console<'_>) -> Result<Reading, Error> {
    if !arguments.cluster {
        return Ok(sources::read(&arguments.file, console.input)?);
    }
    #[cfg(feature = "cluster")]
    {
        use crate::cluster::{self, Wanted};
        let names = select::names(arguments).into_iter();
        let mut names: Vec<String> = names.map(|name| name.definition.to_owned()).collect();
        names.sort();
        names.dedup();
        let wanted = match names.as_slice() {
            [] => Wanted::All,
            names => Wanted::Named(names),
        };
        Ok(cluster::read(wanted)?)
    }
    #[cfg(not(feature = "cluster"))]
    Err(Error::WithoutCluster)
}

/// A description of the sources.
fn origin(arguments: &Crd) -> String {
    if arguments.cluster {
        return "the cluster".to_owned();
    }
    let names = arguments.file.iter().map(|path| match path.to_str() {
        Some("-") => "the standard input".to_owned(),
        _ => path.display().to_string(),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn options(arguments: &Crd) -> TreeOptions {
    TreeOptions {
        root: match &arguments.crate_name {
            None => Root::Module,
            Some(name) => Root::Crate(name.clone()),
        },
        types: match &arguments.types {
            None => Types::Generated,
            Some(path) => Types::Existing(path.clone()),
        },
        docs: match arguments.docs {
            Docs::None => crd::Docs::None,
            Docs::Short => crd::Docs::Short,
            Docs::Full => crd::Docs::Full,
        },
        reuse: match arguments.no_reuse {
            true => Reuse::Never,
            false => Reuse::Types {
                kubernetes: arguments.kubernetes,
                except: arguments.own.clone(),
            },
        },
        informers: match (&arguments.informers_path, &arguments.informers_version) {
            (Some(path), _) => Informers::Path(path.clone()),
            (None, Some(version)) => Informers::Version(version.clone()),
            (None, None) => Informers::Compatible,
        },
        style: style(&arguments.style),
    }
}

fn style(arguments: &StyleArgs) -> Style {
    let extras = [
        (arguments.builders, Extra::Builders),
        (arguments.crd, Extra::Definition),
        (arguments.json_schema, Extra::JsonSchema),
    ];
    Style {
        derives: arguments.derive.clone(),
        map: match arguments.map {
            MapArg::Btreemap => MapType::BTreeMap,
            MapArg::Hashmap => MapType::HashMap,
        },
        extras: extras
            .into_iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, extra)| extra)
            .collect(),
        skip: arguments.skip.clone(),
        only: arguments.only.clone(),
        indexes: arguments.index.clone(),
    }
}

/// The root folder of the output.
fn root(arguments: &Crd) -> PathBuf {
    let named = arguments.crate_name.as_deref().unwrap_or_default();
    arguments.out.clone().unwrap_or_else(|| PathBuf::from(named))
}

/// A module must not be written into the root of a crate. One that exists there is updated.
fn check_root(arguments: &Crd) -> Result<(), Error> {
    let path = root(arguments);
    let is_module = arguments.crate_name.is_none() && path.is_dir() && !path.join("mod.rs").exists();
    let file = ["lib.rs", "main.rs"]
        .into_iter()
        .find(|file| path.join(file).exists());
    match file {
        Some(file) if is_module => Err(Error::CrateRoot { path, file }),
        _ => Ok(()),
    }
}

/// The record of the previous run.
fn record_path(arguments: &Crd) -> PathBuf {
    match arguments.crate_name {
        Some(_) => root(arguments).join("src").join(RECORD),
        None => root(arguments).join(RECORD),
    }
}

/// A line for each kind, then one for all.
fn say_written(
    arguments: &Crd,
    tree: &Tree,
    plan: &Plan,
    passed_over: usize,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    say_kinds(arguments, tree, console)?;
    let removed = plan
        .changes
        .iter()
        .filter(|change| matches!(change.kind, ChangeKind::LeftOver))
        .count();
    let mut parts = vec![
        format!("wrote {}", files(plan.changes.len() - removed)),
        format!("{} unchanged", plan.unchanged),
    ];
    if removed > 0 {
        parts.push(format!("removed {removed} stale"));
    }
    if passed_over > 0 {
        parts.push(format!("skipped {passed_over} of other kinds"));
    }
    writeln!(console.output, "{}", parts.join(", "))?;
    for path in &plan.kept {
        writeln!(
            console.output,
            "kept, because you maintain it: {}",
            path.display()
        )?;
    }
    let is_chosen = arguments.informers_path.is_some() || arguments.informers_version.is_some();
    if arguments.crate_name.is_some() && !is_chosen && plan.kept.is_empty() {
        writeln!(
            console.output,
            "the crate depends on informers {} of the registry; choose --informers-path DIR for a checkout \
             of informers, or --informers-version VERSION for another release",
            crd::informers_version()
        )?;
    }
    Ok(())
}

fn say_kinds(arguments: &Crd, tree: &Tree, console: &mut Console<'_>) -> Result<(), Error> {
    for generated in &tree.kinds {
        let GeneratedKind {
            api_version,
            kind,
            path,
            types,
        } = generated;
        let path = match Target::of(arguments)? {
            Target::Folder => root(arguments).join(path),
            _ => root(arguments),
        };
        let types = match (&arguments.types, types) {
            (Some(module), _) => format!("types of {module}"),
            (None, 1) => "1 type".to_owned(),
            (None, types) => format!("{types} types"),
        };
        writeln!(
            console.output,
            "{api_version} {kind} -> {} ({types})",
            path.display()
        )?;
    }
    if let Some(SharedTypes { path, types }) = &tree.shared {
        let path = root(arguments).join(path);
        let types = match types {
            1 => "1 type".to_owned(),
            types => format!("{types} types"),
        };
        writeln!(console.output, "shared -> {} ({types})", path.display())?;
    }
    Ok(())
}

fn say_plan(arguments: &Crd, tree: &Tree, plan: &Plan, console: &mut Console<'_>) -> Result<(), Error> {
    say_kinds(arguments, tree, console)?;
    for change in &plan.changes {
        let action = match change.kind {
            ChangeKind::Missing { .. } => "write",
            ChangeKind::Differs { .. } => "replace",
            ChangeKind::LeftOver => "remove",
        };
        writeln!(console.output, "would {action}: {}", change.path.display())?;
    }
    writeln!(
        console.output,
        "{} unchanged; nothing was written",
        files(plan.unchanged)
    )?;
    Ok(())
}

/// Prints the differences: first those of fields, then those of files.
fn check(arguments: &Crd, tree: &Tree, plan: &Plan, console: &mut Console<'_>) -> Result<(), Error> {
    if plan.changes.is_empty() {
        let kinds = match tree.kinds.len() {
            1 => "1 kind".to_owned(),
            count => format!("{count} kinds"),
        };
        writeln!(console.output, "fresh: {} for {kinds}", files(plan.unchanged))?;
        return Ok(());
    }
    let before = std::fs::read_to_string(record_path(arguments));
    // An unreadable record is reported with the files below.
    if let Some(before) = before.ok().and_then(|text| Record::parse(&text).ok()) {
        for drift in before.drift(&tree.record) {
            writeln!(console.output, "{drift}")?;
        }
    }
    for change in &plan.changes {
        writeln!(console.output, "{change}")?;
    }
    Err(Error::Differs {
        what: format!("{} out of date", files(plan.changes.len())),
        command: "the same command without --check".to_owned(),
    })
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}
