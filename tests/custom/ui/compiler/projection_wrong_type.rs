//! Fields whose type is neither that of the full type nor a projection of it.

use informers::Projection;

#[derive(serde::Deserialize)]
pub struct Whole {
    pub name: Option<String>,
    pub inner: Option<Inner>,
    pub list: Vec<Inner>,
}

#[derive(serde::Deserialize)]
pub struct Inner {
    pub size: u32,
}

#[derive(serde::Deserialize)]
pub struct Other {
    pub size: u32,
}

#[derive(Projection)]
#[projection(of = Whole)]
pub struct Part {
    pub name: Option<u32>,
    pub inner: Option<PartOfOther>,
    pub list: Vec<PartOfInner>,
}

#[derive(Projection, Default)]
#[projection(of = Other)]
pub struct PartOfOther {
    pub size: u32,
}

#[derive(Projection, Default)]
#[projection(of = Inner)]
pub struct PartOfInner {
    pub size: u32,
}

fn main() {}
