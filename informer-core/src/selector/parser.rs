//! Parses a selector, by the rules of upstream's `labels.Parse`.

use super::Selector;
use super::lexer::{Lexer, Token};
use super::requirement::{Operator, Requirement};
use super::syntax::{self, SyntaxError};

/// Parses a selector, or returns its first error.
///
/// The grammar has no nesting, so it is parsed in a loop and the call depth is fixed.
pub(super) fn parse(text: &str) -> Result<Selector, SyntaxError> {
    let mut tokens = Lexer::new(text);
    let mut requirements = Vec::new();
    if tokens.peek() == Token::End {
        return Ok(Selector::everything());
    }
    loop {
        requirements.push(requirement(&mut tokens)?);
        let at = tokens.offset();
        match tokens.take() {
            Token::End => return Ok(requirements.into_iter().collect()),
            Token::Comma => {}
            _ => return Err(SyntaxError::at(at, "`,` or the end")),
        }
    }
}

fn requirement(tokens: &mut Lexer<'_>) -> Result<Requirement, SyntaxError> {
    if tokens.peek() == Token::Not {
        tokens.take();
        let key = key(tokens, "a key")?;
        return Ok(Requirement::from_valid(key, Operator::DoesNotExist, Vec::new()));
    }
    let key = key(tokens, "a key or `!`")?;
    let operator = match tokens.peek() {
        Token::End | Token::Comma => {
            return Ok(Requirement::from_valid(key, Operator::Exists, Vec::new()));
        }
        Token::Equals => Operator::Equals,
        Token::NotEquals => Operator::NotEquals,
        Token::Greater => Operator::GreaterThan,
        Token::Less => Operator::LessThan,
        Token::Word("in") => Operator::In,
        Token::Word("notin") => Operator::NotIn,
        _ => {
            let expected = "`=`, `!=`, `in`, `notin`, `>`, `<`, `,` or the end";
            return Err(SyntaxError::at(tokens.offset(), expected));
        }
    };
    tokens.take();
    let values = match operator {
        Operator::In | Operator::NotIn => set(tokens)?,
        _ => vec![single(tokens, operator)?],
    };
    Ok(Requirement::from_valid(key, operator, values))
}

/// A key. `in` and `notin` can be keys too: the next token decides.
fn key(tokens: &mut Lexer<'_>, expected: &'static str) -> Result<String, SyntaxError> {
    let at = tokens.offset();
    match tokens.take() {
        Token::Word(word) => {
            syntax::key(word).map_err(|error| error.shifted(at))?;
            Ok(word.to_owned())
        }
        _ => Err(SyntaxError::at(at, expected)),
    }
}

/// The single value after a sign. A missing one is the empty value.
fn single(tokens: &mut Lexer<'_>, operator: Operator) -> Result<String, SyntaxError> {
    let at = tokens.offset();
    let word = match tokens.peek() {
        Token::End | Token::Comma => "",
        Token::Word(word) => {
            tokens.take();
            word
        }
        _ => return Err(SyntaxError::at(at, "a value")),
    };
    syntax::value_of(operator, word).map_err(|error| error.shifted(at))?;
    Ok(word.to_owned())
}

/// The values in parentheses: separated by commas, any of them empty. `()` has one empty value.
fn set(tokens: &mut Lexer<'_>) -> Result<Vec<String>, SyntaxError> {
    let at = tokens.offset();
    if tokens.take() != Token::Open {
        return Err(SyntaxError::at(at, "`(`"));
    }
    let mut values = Vec::new();
    loop {
        let mut expected = "a value, `,` or `)`";
        let mut value = String::new();
        if let Token::Word(word) = tokens.peek() {
            syntax::value_of(Operator::In, word).map_err(|error| error.shifted(tokens.offset()))?;
            word.clone_into(&mut value);
            expected = "`,` or `)`";
            tokens.take();
        }
        values.push(value);
        let at = tokens.offset();
        match tokens.take() {
            Token::Comma => {}
            Token::Close => return Ok(values),
            _ => return Err(SyntaxError::at(at, expected)),
        }
    }
}
