//! Relative links in Markdown files name files, and headings, that exist.

use std::path::{Component, Path, PathBuf};

use super::Problem;
use crate::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.files.iter().filter(|file| file.is("md"));
    pages.flat_map(|page| check_page(tree, page)).collect()
}

fn check_page(tree: &Tree, page: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, target) in links(&page.text) {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if path.is_empty() {
            page.path.clone()
        } else {
            beside(&page.path, path)
        };
        let message = if !tree.root.join(&path).exists() {
            format!("the link `{target}` names no file")
        } else if tree
            .file(&path)
            .is_some_and(|file| !heading.is_empty() && !has_heading(&file.text, heading))
        {
            format!("no heading of {} is `#{heading}`", path.display())
        } else {
            continue;
        };
        problems.push(Problem {
            path: page.path.clone(),
            line: Some(line),
            message,
        });
    }
    problems
}

/// The targets of `[text](target)` that stay within the workspace, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        let targets = line
            .split("](")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0));
        found.extend(
            targets
                .filter(|target| !target.contains("://"))
                .map(|target| (index + 1, target)),
        );
    }
    found
}

/// `target` relative to the folder of `page`, without `..`.
fn beside(page: &Path, target: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Whether a heading becomes the anchor `anchor`: in lower case, with `-` for blanks and without other signs.
fn has_heading(text: &str, anchor: &str) -> bool {
    let is_kept = |char: &char| char.is_alphanumeric() || matches!(char, '-' | '_');
    let to_anchor = |heading: &str| -> String {
        heading
            .trim()
            .to_lowercase()
            .replace(' ', "-")
            .chars()
            .filter(is_kept)
            .collect()
    };
    text.lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| to_anchor(line.trim_start_matches('#')) == anchor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    fn check_links(text: &str, expected: &[&str]) {
        let files = vec![
            File::new("docs/page.md", text),
            File::new("README.md", "# The `big` one\n"),
        ];
        let tree = Tree {
            root: workspace::root().to_owned(),
            files,
        };
        let problems: Vec<String> = check(&tree).iter().map(Problem::to_string).collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn links_to_files_headings_and_other_sites_are_fine() {
        check_links(
            "[a](../README.md) [b](../README.md#the-big-one) [c](https://example.com/x)\n",
            &[],
        );
        check_links("```\n[a](nowhere.md)\n```\n", &[]);
    }

    #[test]
    fn a_broken_link_is_reported() {
        check_links(
            "x\n[a](nowhere.md)\n",
            &["docs/page.md:2: the link `nowhere.md` names no file"],
        );
        check_links(
            "[a](../README.md#gone)\n",
            &["docs/page.md:1: no heading of README.md is `#gone`"],
        );
    }
}
