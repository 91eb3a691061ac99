//! A field that may be missing needs a default.

use informers::Projection;

#[derive(serde::Deserialize)]
pub struct Whole {
    pub inner: Option<Inner>,
}

#[derive(serde::Deserialize)]
pub struct Inner {
    pub size: u32,
}

#[derive(Projection)]
#[projection(of = Whole)]
pub struct Part {
    pub inner: PartOfInner,
}

#[derive(Projection)]
#[projection(of = Inner)]
pub struct PartOfInner {
    pub size: u32,
}

fn main() {}
