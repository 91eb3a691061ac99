//! A list or a map where the full type has none.

use std::collections::BTreeMap;

use informers::Projection;

#[derive(serde::Deserialize)]
pub struct Whole {
    pub name: Option<String>,
    pub labels: Option<Vec<String>>,
}

#[derive(Projection)]
#[projection(of = Whole)]
pub struct Part {
    pub name: Vec<String>,
    pub labels: BTreeMap<String, String>,
}

fn main() {}
