//! The JSON names of what the other tests project, as the whole types read them.

use informers::projection::verify;

use crate::support::{PodOnNode, ServiceAddress};

#[test]
fn the_projections_of_these_tests_name_fields_that_exist() {
    verify::<PodOnNode>().unwrap();
    verify::<ServiceAddress>().unwrap();
}
