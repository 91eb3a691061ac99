//! A field that the full type does not have.

use informers::Projection;

#[derive(serde::Deserialize)]
pub struct Whole {
    pub node_name: Option<String>,
    pub pod_ip: Option<String>,
}

#[derive(Projection)]
#[projection(of = Whole)]
pub struct Part {
    pub node_nam: Option<String>,
    pub pod_ip: Option<String>,
}

fn main() {}
