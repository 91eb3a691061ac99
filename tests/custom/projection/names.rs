//! Verifies the JSON names of the projections in the other tests.

use informers::projection::verify;

use super::types::{PodOnNode, ServiceAddress};

#[test]
fn the_projections_of_these_tests_declare_fields_that_exist() {
    verify::<PodOnNode>().unwrap();
    verify::<ServiceAddress>().unwrap();
}
