//! The options of generated types: `styled` has most of them, `slim` is a projection.
//!
//! Both are single files from `informer-gen/tests/crd/gadget.yaml`, written by the golden test of
//! informer-gen.

mod slim;
mod styled;

use std::collections::HashMap;
use std::time::Duration;

use informer_testing::ApiServer;
use informers::SharedInformerFactory;
use kube::core::crd::v1::CustomResourceExt;
use serde_json::{Value, json};

use self::styled::example_com::v1::gadget::{Gadget, GadgetSpec, GadgetSpecMode, GadgetSpecPart};
use crate::support::{create_in, define, names, synced};

#[test]
fn the_definition_is_that_which_was_read() {
    let definition = Gadget::crd();
    assert_eq!(definition.metadata.name.as_deref(), Some(Gadget::crd_name()));
    assert_eq!(
        definition
            .metadata
            .labels
            .as_ref()
            .map(|labels| labels["team"].as_str()),
        Some("tools")
    );
    assert_eq!(Gadget::shortnames(), ["gd", "gdt"]);
    assert_eq!(
        definition.spec.names.short_names,
        Some(vec!["gd".to_owned(), "gdt".to_owned()])
    );
    let columns = definition.spec.versions[0]
        .additional_printer_columns
        .as_ref()
        .unwrap();
    assert_eq!(
        (columns[0].name.as_str(), columns[0].json_path.as_str()),
        ("Owner", ".spec.owner")
    );
    assert_eq!(Gadget::api_resource().plural, "gadgets");
    let yaml = include_str!("../../../informer-gen/tests/crd/gadget.yaml");
    let read: Value = serde_saphyr::from_str(yaml).unwrap();
    let kept: Value = serde_json::from_str(styled::example_com::definitions::GADGETS).unwrap();
    assert_eq!(kept, read);
}

#[test]
fn the_json_schema_of_a_kind_is_that_of_its_definition() {
    let schema = schemars::schema_for!(Gadget);
    assert_eq!(
        schema.pointer("/properties/spec/required"),
        Some(&json!(["owner", "replicas"]))
    );
    assert_eq!(
        schema.pointer("/properties/spec/properties/replicas/format"),
        Some(&json!("int32"))
    );
}

/// An object for server-side apply has the fields that were set, and no others.
#[test]
fn an_object_of_builders_has_only_the_fields_that_were_set() {
    let spec = GadgetSpec::default()
        .with_replicas(3)
        .with_mode(GadgetSpecMode::Fast)
        .with_labels(HashMap::from([("a".to_owned(), "b".to_owned())]))
        .with_template(json!({ "image": "i", "env": { "deep": "x" } }));
    let written = serde_json::to_value(Gadget::new("a", spec)).unwrap();
    assert_eq!(
        written,
        json!({ "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": { "name": "a" }, "spec": {
            "replicas": 3, "mode": "Fast", "labels": { "a": "b" },
            "template": { "image": "i", "env": { "deep": "x" } },
        } })
    );
    assert!(
        GadgetSpecMode::Fast < GadgetSpecMode::Slow,
        "the enum has no order"
    );
}

#[test]
fn a_skipped_field_keeps_everything_below_it() {
    let spec = json!({ "owner": "ann", "replicas": 1, "template": { "image": 7, "unknown": [null] } });
    let object = json!({ "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {}, "spec": spec });
    let gadget: Gadget = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(&gadget).unwrap(), object);
}

#[test]
fn the_json_schema_of_a_part_is_that_of_its_place() {
    let spec = schemars::schema_for!(GadgetSpec);
    assert_eq!(spec.pointer("/title"), Some(&json!("GadgetSpec")));
    assert_eq!(spec.pointer("/properties/replicas/format"), Some(&json!("int32")));
    let mode = schemars::schema_for!(GadgetSpecMode);
    assert_eq!(mode.pointer("/enum"), Some(&json!(["Fast", "Slow"])));
    let part = schemars::schema_for!(GadgetSpecPart);
    assert_eq!(part.pointer("/required"), Some(&json!(["name"])));
}

fn gadget(name: &str, owner: &str, mode: GadgetSpecMode, tags: &[&str]) -> Gadget {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    let part = GadgetSpecPart::default()
        .with_name(format!("{name}-part"))
        .with_tags(tags);
    let spec = GadgetSpec::default()
        .with_owner(owner)
        .with_replicas(2)
        .with_mode(mode)
        .with_parts(vec![part]);
    Gadget::new(name, spec)
}

#[tokio::test(start_paused = true)]
async fn generated_indexes_follow_the_objects_of_a_running_informer() {
    use self::styled::prelude::*;

    let server = ApiServer::start();
    define::<Gadget>(&server);
    create_in(
        &server,
        "default",
        gadget("a", "ann", GadgetSpecMode::Fast, &["red", "round"]),
    );
    create_in(
        &server,
        "default",
        gadget("b", "ann", GadgetSpecMode::Slow, &["red"]),
    );
    let factory = SharedInformerFactory::new(server.client());
    let gadgets = factory.example_com().v1().gadgets();
    let (owners, modes) = (gadgets.by_owner().unwrap(), gadgets.by_mode().unwrap());
    let (replicas, tags) = (gadgets.by_replicas().unwrap(), gadgets.by_tag().unwrap());
    synced(&factory).await;
    assert_eq!(names(&owners.get("ann")), ["a", "b"]);
    assert_eq!(names(&modes.get(&GadgetSpecMode::Fast)), ["a"]);
    assert_eq!(names(&replicas.get(&2)), ["a", "b"]);
    assert_eq!(names(&tags.get("round")), ["a"]);

    let other = GadgetSpecMode::Unrecognized("Turbo".to_owned());
    create_in(&server, "default", gadget("c", "bob", other.clone(), &[]));
    let gone = gadgets.lister().gadgets("default").get("a").unwrap();
    server.delete(&*gone).unwrap();
    let is_current = || modes.get(&other).len() == 1 && owners.get("ann").len() == 1;
    while !is_current() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(names(&owners.get("bob")), ["c"]);
    assert_eq!(names(&tags.get("red")), ["b"]);
    assert!(modes.get(&GadgetSpecMode::Fast).is_empty());
}

/// A projection is a kind of its own beside the whole one, with its own informer and index.
#[tokio::test(start_paused = true)]
async fn a_generated_projection_has_an_informer_and_indexes_of_its_own() {
    use self::slim::prelude::*;

    let server = ApiServer::start();
    define::<Gadget>(&server);
    create_in(
        &server,
        "default",
        gadget("a", "ann", GadgetSpecMode::Fast, &["red"]),
    );
    let factory = SharedInformerFactory::new(server.client());
    let gadgets = factory.example_com().v1().gadgets();
    let parts = gadgets.by_part().unwrap();
    synced(&factory).await;
    let slim = gadgets.lister().gadgets("default").get("a").unwrap();
    assert_eq!((*slim.spec.replicas, &slim.status), (2, &None));
    assert_eq!(names(&parts.get("a-part")), ["a"]);
}
