//! Changes the text of generated types: derives, the type of maps, projections.
//!
//! It works on the lines that the printer wrote, each of which it knows: attributes and items of types begin
//! a line, and a generated type is never generic.

use super::options::{Derive, DeriveOn, MapType, Style};

/// The text of a file of types in another style.
pub(super) fn dress(text: &str, style: &Style) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if !style.only.is_empty() {
        lines = projection(lines);
    }
    derive(&mut lines, &style.derives);
    if style.map == MapType::HashMap {
        lines = hash_maps(lines);
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Adds derives.
fn derive(lines: &mut [String], derives: &[Derive]) {
    for place in 0..lines.len() {
        let (Some(line), Some(after)) = (lines.get(place), lines.get(place + 1..)) else {
            continue;
        };
        let Some(present) = line
            .strip_prefix("#[derive(")
            .and_then(|line| line.strip_suffix(")]"))
        else {
            continue;
        };
        let Some((item, name)) = after.iter().find_map(|line| item(line)) else {
            continue;
        };
        let mut traits: Vec<&str> = present.split(", ").collect();
        for derive in derives {
            let is_wanted = match &derive.on {
                DeriveOn::All => true,
                DeriveOn::Structs => item == "struct",
                DeriveOn::Enums => item == "enum",
                DeriveOn::Named(wanted) => wanted == name,
            };
            let short = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
            let is_new = !traits.iter().any(|present| short(present) == short(&derive.path));
            if is_wanted && is_new {
                traits.push(&derive.path);
            }
        }
        let line = format!("#[derive({})]", traits.join(", "));
        if let Some(old) = lines.get_mut(place) {
            *old = line;
        }
    }
}

/// `struct` or `enum`, and the name of the type that a line begins.
fn item(line: &str) -> Option<(&str, &str)> {
    let (item, name) = line.strip_prefix("pub ")?.split_once(' ')?;
    let name = name.split([' ', '{']).next()?;
    matches!(item, "struct" | "enum").then_some((item, name))
}

/// Types that are read only: a projection that could be written would delete all other fields.
fn projection(lines: Vec<String>) -> Vec<String> {
    let is_read = |line: &String| !line.starts_with("    impl Serialize { ");
    let lines = lines.into_iter().filter(is_read);
    let lines = lines.map(|line| match line.starts_with("#[derive(") {
        true => line
            .replace("serde::Serialize, ", "")
            .replace(", serde::Serialize", ""),
        false => line.replace(
            "impl Resource<()> for",
            "impl Resource<::informers::Projected> for",
        ),
    });
    lines.collect()
}

fn hash_maps(lines: Vec<String>) -> Vec<String> {
    // A kind or a part of it may have the name.
    let is_taken = lines
        .iter()
        .any(|line| item(line).is_some_and(|(_, name)| name == "HashMap"));
    let name = if is_taken {
        "::std::collections::HashMap"
    } else {
        "HashMap"
    };
    let lines = lines.into_iter().filter_map(|line| {
        if line == "use std::collections::BTreeMap;" {
            return (!is_taken).then(|| "use std::collections::HashMap;".to_owned());
        }
        if line.trim_start().starts_with("///") {
            return Some(line);
        }
        let line = line.replace("::std::collections::BTreeMap<", "BTreeMap<");
        Some(
            line.replace("BTreeMap<", &format!("{name}<"))
                .replace("BTreeMap::", &format!("{name}::")),
        )
    });
    lines.collect()
}
