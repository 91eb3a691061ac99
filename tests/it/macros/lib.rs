//! The attribute `test` of the integration tests: tokio's or the standard one, with the watchdog around the
//! test.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a function a test that the watchdog knows of: tokio's, with its arguments, if the function is async.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let is_async = function
        .clone()
        .into_iter()
        .any(|token| matches!(&token, TokenTree::Ident(ident) if ident.to_string() == "async"));
    let attribute = match is_async {
        true => format!("#[::tokio::real::test({arguments})]"),
        false => "#[::core::prelude::v1::test]".to_owned(),
    };
    let attribute: TokenStream = attribute.parse().expect("it is written above");
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    if let Some(TokenTree::Group(body)) = tokens.pop() {
        tokens.push(TokenTree::Group(watched(&body)));
    }
    attribute.into_iter().chain(tokens).collect()
}

/// The body of a function with a guard before its first statement.
fn watched(body: &Group) -> Group {
    let guard: TokenStream = "let _watched = ::tokio::watchdog::watch();"
        .parse()
        .expect("it is a statement");
    let mut watched = Group::new(Delimiter::Brace, guard.into_iter().chain(body.stream()).collect());
    watched.set_span(body.span());
    watched
}
