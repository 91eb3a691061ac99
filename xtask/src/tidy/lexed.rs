//! A Rust file as tokens: comments are gone, strings are closed, and every token knows its line.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of a file and the functions among them.
pub(super) struct Lexed {
    pub(super) tokens: Vec<TokenTree>,
    pub(super) functions: Vec<Function>,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// From the line of `fn` to that of the closing brace.
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    pub(super) role: Role,
}

/// What a function is for, as far as its attributes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It has `#[test]`, `#[tokio::test]` or the like.
    Test,
    Other,
}

impl Lexed {
    /// Splits the text; the error says where that fails.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let tokens: Vec<TokenTree> = text
            .parse::<TokenStream>()
            .map_err(|error| format!("line {}: {error}", error.span().start().line))?
            .into_iter()
            .collect();
        let mut functions = Vec::new();
        find_functions(&tokens, &mut functions);
        Ok(Self { tokens, functions })
    }
}

fn find_functions(tokens: &[TokenTree], found: &mut Vec<Function>) {
    let mut role = Role::Other;
    for (index, token) in tokens.iter().enumerate() {
        if let Some(attribute) = attribute(&tokens[index..]) {
            if is_test(attribute) {
                role = Role::Test;
            }
        } else if is_ident(token, "fn") {
            found.extend(function(&tokens[index..], role));
            role = Role::Other;
        } else if ends_item(token) {
            role = Role::Other;
        }
        if let TokenTree::Group(group) = token {
            find_functions(&children(group), found);
        }
    }
}

/// `fn name .. { .. }` at the start of `tokens`; `None` for a declaration without body or a function pointer.
fn function(tokens: &[TokenTree], role: Role) -> Option<Function> {
    let TokenTree::Ident(name) = tokens.get(1)? else {
        return None;
    };
    let end = tokens
        .iter()
        .find(|token| is_brace(token) || is_punct(token, ';'))?;
    let TokenTree::Group(body) = end else { return None };
    Some(Function {
        name: name.to_string(),
        first_line: line(&tokens[0]),
        last_line: body.span_close().end().line,
        role,
    })
}

/// The inside of the attribute `#[..]` that `tokens` begin with.
pub(super) fn attribute(tokens: &[TokenTree]) -> Option<TokenStream> {
    match tokens {
        [hash, TokenTree::Group(group), ..]
            if is_punct(hash, '#') && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group.stream())
        }
        _ => None,
    }
}

/// Whether the attribute makes a function a test: `#[cfg(test)]` does not.
fn is_test(attribute: TokenStream) -> bool {
    let is_cfg = |token: &TokenTree| is_ident(token, "cfg") || is_ident(token, "cfg_attr");
    !attribute
        .clone()
        .into_iter()
        .next()
        .is_some_and(|first| is_cfg(&first))
        && mentions(attribute, "test")
}

/// Whether the identifier `name` is anywhere in the tokens.
fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match &token {
        TokenTree::Group(group) => mentions(group.stream(), name),
        other => is_ident(other, name),
    })
}

fn ends_item(token: &TokenTree) -> bool {
    is_brace(token) || is_punct(token, ';')
}

pub(super) fn children(group: &proc_macro2::Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

pub(super) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

pub(super) fn is_punct(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == punct)
}

pub(super) fn is_brace(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// The line a token starts on, counted from 1.
pub(super) fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_lines_and_role() {
        let text = "impl X {\n    fn short() {}\n}\n#[tokio::test]\nasync fn told() {\n    work();\n}\ntrait T { fn f(); }\n";
        let functions = Lexed::new(text).unwrap().functions;
        let function = |name: &str, first_line, last_line, role| Function {
            name: name.to_owned(),
            first_line,
            last_line,
            role,
        };
        assert_eq!(
            functions,
            [
                function("short", 2, 2, Role::Other),
                function("told", 5, 7, Role::Test)
            ]
        );
    }

    #[test]
    fn a_helper_of_tests_is_not_a_test() {
        let functions = Lexed::new("#[cfg(test)]\nfn helper() {}").unwrap().functions;
        assert_eq!(functions[0].role, Role::Other);
    }
}
