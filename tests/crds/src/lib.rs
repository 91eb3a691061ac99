//! What the generator writes for the definitions in `informer-gen/tests/crd`, compiled as a user would compile it.
//!
//! The golden test of informer-gen says what the text is; the tests here say what it does. The layout is that of rustfmt's
//! default settings, not of this workspace, so rustfmt is kept out.

#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/widget.rs"]
pub mod widget;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/loose.rs"]
pub mod loose;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/nullable.rs"]
pub mod nullable;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/names.rs"]
pub mod names;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/described.rs"]
pub mod described;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/open.rs"]
pub mod open;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_btreemap.rs"]
pub mod clash_btreemap;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_box.rs"]
pub mod clash_box;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_clone.rs"]
pub mod clash_clone;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_default.rs"]
pub mod clash_default;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_objectmeta.rs"]
pub mod clash_objectmeta;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_option.rs"]
pub mod clash_option;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_result.rs"]
pub mod clash_result;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_serialize.rs"]
pub mod clash_serialize;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_string.rs"]
pub mod clash_string;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_time.rs"]
pub mod clash_time;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_value.rs"]
pub mod clash_value;
#[rustfmt::skip]
#[path = "../../../informer-gen/tests/crd/clash_vec.rs"]
pub mod clash_vec;
