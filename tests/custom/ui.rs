//! Code that must not compile: `ui/*.rs` beside the expected errors in `ui/*.stderr`.
//!
//! The errors of the derive macros are tested without a compiler: the macros run on the files as functions.
//! `ui/compiler` has the errors that the compiler words itself; they change with its releases. Compiling
//! builds all dependencies once more, so that test runs in CI only: `cargo xtask ci ui`.
//!
//! `TRYBUILD=overwrite cargo test -p informer-custom ui -- --ignored` rewrites the expected errors.

use std::path::Path;
use std::process::Command;

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item};

use crate::crd::clashes;

/// The compiler whose errors `ui/compiler` has.
const COMPILER: &str = "rustc 1.95.";

#[test]
#[ignore = "builds all dependencies once more; run it with `cargo xtask ci ui`"]
fn the_compiler_reports_errors_where_they_are_with_the_fix() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    cases.compile_fail(clashes::write());
    let compiler = compiler();
    if compiler.starts_with(COMPILER) {
        cases.compile_fail("ui/compiler/*.rs");
    } else {
        println!("skipped: ui/compiler, which has the errors of {COMPILER}* and not of {compiler}");
    }
}

fn compiler() -> String {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).arg("--version").output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

#[test]
fn the_macros_report_errors_where_they_are_with_the_fix() {
    let mut cases = 0;
    for entry in std::fs::read_dir("ui").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let expected = std::fs::read_to_string(path.with_extension("stderr")).unwrap();
            assert_eq!(
                errors_of(&path),
                messages_and_places(&expected),
                "{}",
                path.display()
            );
            cases += 1;
        }
    }
    assert!(cases >= 30, "only {cases} files in `ui`");
}

/// The lines of the compiler's output that do not depend on how it shows the source.
fn messages_and_places(output: &str) -> Vec<String> {
    let lines = output.lines().map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with("error: ") || line.starts_with("--> "));
    lines.map(str::to_owned).collect()
}

/// The messages and places of the errors of all derives of a file.
fn errors_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = Vec::new();
    for mut item in syn::parse_file(&text).unwrap().items {
        let attributes = match &mut item {
            Item::Struct(item) => &mut item.attrs,
            Item::Enum(item) => &mut item.attrs,
            Item::Union(item) => &mut item.attrs,
            _ => continue,
        };
        let Some((index, expand)) = find_derive(attributes) else {
            continue;
        };
        // A macro does not see the derive that calls it.
        attributes.remove(index);
        for (message, place) in errors(expand(item.into_token_stream())) {
            lines.push(format!("error: {message}"));
            lines.push(format!(
                "--> {}:{}:{}",
                path.display(),
                place.line,
                place.column + 1
            ));
        }
    }
    lines
}

/// The body of a derive macro.
type Macro = fn(TokenStream) -> TokenStream;

/// The position of the attribute that derives one of our macros, and that macro.
fn find_derive(attributes: &[Attribute]) -> Option<(usize, Macro)> {
    attributes.iter().enumerate().find_map(|(index, attribute)| {
        let list = attribute.meta.require_list().ok()?;
        let mut tokens = list
            .tokens
            .clone()
            .into_iter()
            .filter(|_| list.path.is_ident("derive"));
        tokens.find_map(|token| match token.to_string().as_str() {
            "Informer" => Some((index, informer_gen::derive::informer as Macro)),
            "Projection" => Some((index, informer_gen::derive::projection as Macro)),
            _ => None,
        })
    })
}

/// The messages of every `compile_error!` in expanded code. Its first token has the span of the first token
/// it points to.
fn errors(expanded: TokenStream) -> Vec<(String, LineColumn)> {
    let tokens: Vec<TokenTree> = expanded.into_iter().collect();
    let mut errors = Vec::new();
    for window in tokens.windows(3) {
        if let [
            TokenTree::Ident(name),
            TokenTree::Punct(_),
            TokenTree::Group(message),
        ] = window
            && name == "compile_error"
        {
            let message: syn::LitStr = syn::parse2(message.stream()).unwrap();
            errors.push((message.value(), name.span().start()));
        }
    }
    errors
}
