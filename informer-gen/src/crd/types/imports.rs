//! `use` statements in the layout and order of rustfmt.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// rustfmt's `max_width`.
const WIDTH: usize = 100;

/// `use module::{A, B};`, broken into lines if it is long.
pub(super) fn statement(keyword: &str, module: &str, names: &BTreeSet<String>) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_by(|one, other| order(one, other));
    let line = match names.as_slice() {
        [name] => format!("{keyword} {module}::{name};\n"),
        names => format!("{keyword} {module}::{{{}}};\n", names.join(", ")),
    };
    if line.len() <= WIDTH + 1 || names.len() == 1 {
        return line;
    }
    let mut text = format!("{keyword} {module}::{{");
    let mut width = WIDTH;
    for name in names {
        if width + name.len() + 2 > WIDTH {
            text.push_str("\n   ");
            width = 3;
        }
        text.push_str(&format!(" {name},"));
        width += name.len() + 2;
    }
    text + "\n};\n"
}

/// The order of names in a list: words in capitals last, numbers by value.
fn order(one: &str, other: &str) -> Ordering {
    let is_capitals = |name: &str| !name.contains(|letter: char| letter.is_lowercase());
    is_capitals(one)
        .cmp(&is_capitals(other))
        .then_with(|| by_value(one, other))
}

/// Compares letter by letter, and runs of digits by value.
fn by_value(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (Some(first), Some(second)) = (one.chars().next(), other.chars().next()) else {
            return one.len().cmp(&other.len());
        };
        if first.is_ascii_digit() && second.is_ascii_digit() {
            let (number, rest) = number(one);
            let (other_number, other_rest) = self::number(other);
            match number
                .len()
                .cmp(&other_number.len())
                .then(number.cmp(other_number))
            {
                Ordering::Equal => (one, other) = (rest, other_rest),
                different => return different,
            }
            continue;
        }
        match first.cmp(&second) {
            Ordering::Equal => {
                one = one.get(first.len_utf8()..).unwrap_or_default();
                other = other.get(second.len_utf8()..).unwrap_or_default();
            }
            different => return different,
        }
    }
}

/// The digits at the start, without leading zeros, and the rest.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    (digits.trim_start_matches('0'), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &str) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(statement("pub use", "super::shared", &names), expected);
    }

    #[test]
    fn names_are_in_the_order_of_rustfmt() {
        check(&["One"], "pub use super::shared::One;\n");
        check(
            &["TLS", "Item10", "Item9", "Zone", "Item"],
            "pub use super::shared::{Item, Item9, Item10, Zone, TLS};\n",
        );
    }

    #[test]
    fn a_long_list_is_broken() {
        let [one, two, three] = ["One", "Three", "Two"].map(|start| format!("{start}{}", "a".repeat(40)));
        check(
            &[&one, &two, &three],
            &format!("pub use super::shared::{{\n    {one}, {two},\n    {three},\n}};\n"),
        );
    }
}
