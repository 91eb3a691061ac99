//! The options of a row: pairs of `--name value`.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::Result;

pub(crate) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    pub(crate) fn new(arguments: &[String]) -> Result<Self> {
        let mut pairs = BTreeMap::new();
        for pair in arguments.chunks(2) {
            match pair {
                [name, value] if name.starts_with("--") => {
                    pairs.insert(name[2..].to_owned(), value.clone());
                }
                _ => return Err(format!("expected `--name value`, found `{}`", pair.join(" ")).into()),
            }
        }
        Ok(Self(pairs))
    }

    /// The value of an option, which must exist.
    pub(crate) fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        self.0
            .get(name)
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| format!("the option --{name} is missing or invalid").into())
    }
}
