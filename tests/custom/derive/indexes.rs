//! Indexes that are declared in the derive attributes of a kind.

use informer_testing::ApiServer;
use informers::{Index, IndexDefinition, Informer, ResourceVersion, SharedInformerFactory};
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::support::{create_in, define, names, synced};

#[derive(CustomResource, Informer, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "shop.example",
    version = "v1",
    kind = "Parcel",
    namespaced,
    status = ParcelStatus,
    schema = "disabled"
)]
#[informer(index(name = "owner", by = "spec.owner"))]
#[informer(
    index(name = "weight", by = "spec.weight", value = "u32"),
    index(name = "tag", by = ".spec.tags"),
    index(name = "stop", by = "status.stops.place"),
    index(name = "type", by = "spec.type_")
)]
#[informer(index(name = "size", by = "size_of", value = Size))]
#[informer(index(name = "word", by = crate::derive::indexes::words_of))]
struct ParcelSpec {
    owner: String,
    weight: u32,
    tags: Option<Vec<String>>,
    #[serde(rename = "type")]
    type_: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct ParcelStatus {
    stops: Vec<Stop>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Stop {
    place: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Letter,
    Box,
}

fn size_of(parcel: &Parcel) -> Option<Size> {
    match parcel.spec.weight {
        0 => None,
        1 => Some(Size::Letter),
        _ => Some(Size::Box),
    }
}

fn words_of(parcel: &Parcel) -> impl Iterator<Item = String> {
    parcel.spec.owner.split(' ').map(str::to_owned)
}

fn stop(place: Option<&str>) -> Stop {
    Stop {
        place: place.map(str::to_owned),
    }
}

fn parcels() -> [Parcel; 2] {
    let mut sent = Parcel::new(
        "sent",
        ParcelSpec {
            owner: "ann lee".to_owned(),
            weight: 1,
            tags: Some(vec!["fragile".to_owned(), "gift".to_owned()]),
            type_: Some("express".to_owned()),
        },
    );
    sent.status = Some(ParcelStatus {
        stops: vec![stop(Some("berlin")), stop(None), stop(Some("rome"))],
    });
    let new = Parcel::new(
        "new",
        ParcelSpec {
            owner: "bob lee".to_owned(),
            ..ParcelSpec::default()
        },
    );
    [sent, new]
}

/// A synced factory with parcels, and its server.
async fn with_parcels() -> (ApiServer, SharedInformerFactory) {
    let server = ApiServer::start();
    define::<Parcel>(&server);
    for parcel in parcels() {
        create_in(&server, "web", parcel);
    }
    let factory = SharedInformerFactory::new(server.client());
    factory.parcels().informer();
    synced(&factory).await;
    (server, factory)
}

fn check<V>(index: &Index<Parcel, V>, value: V, expected: &[&str])
where
    V: informers::store::IndexValue,
{
    assert_eq!(names(&index.get(&value)), expected, "{}", index.name());
}

#[tokio::test(start_paused = true)]
async fn a_path_of_fields_passes_through_options_and_lists() {
    let (_server, factory) = with_parcels().await;
    let parcels: ParcelInformer = factory.parcels();

    let by_owner: Index<Parcel, String> = parcels.by_owner().unwrap();
    check(&by_owner, "ann lee".to_owned(), &["sent"]);
    check(&parcels.by_weight().unwrap(), 0, &["new"]);
    check(&parcels.by_tag().unwrap(), "gift".to_owned(), &["sent"]);
    check(&parcels.by_type().unwrap(), "express".to_owned(), &["sent"]);
    check(&parcels.by_stop().unwrap(), "rome".to_owned(), &["sent"]);
    assert_eq!(parcels.by_stop().unwrap().values(), ["berlin", "rome"]);
}

#[tokio::test(start_paused = true)]
async fn a_function_returns_any_number_of_values_of_any_type() {
    let (_server, factory) = with_parcels().await;
    let parcels = factory.parcels();

    check(&parcels.by_size().unwrap(), Size::Letter, &["sent"]);
    check(&parcels.by_size().unwrap(), Size::Box, &[]);
    check(&parcels.by_word().unwrap(), "lee".to_owned(), &["new", "sent"]);
}

#[tokio::test(start_paused = true)]
async fn an_index_follows_the_objects_and_is_shared() {
    let (server, factory) = with_parcels().await;
    let parcels = factory.parcels();
    let index = parcels.by_owner().unwrap();

    let [sent, _] = server.objects::<Parcel>().try_into().unwrap();
    server.delete(&sent).unwrap();
    let version = ResourceVersion::new(&server.resource_version());
    parcels.informer().wait_until(&version).await.unwrap();

    check(&index, sent.spec.owner, &[]);
    assert_eq!(parcels.informer().indexer().index_status().len(), 1);
    parcels.by_owner().unwrap();
    assert_eq!(parcels.informer().indexer().index_status().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_definition_can_be_added_to_the_factory_in_advance() {
    let server = ApiServer::start();
    define::<Parcel>(&server);
    let definition: &'static IndexDefinition<Parcel, String> = ParcelInformer::BY_OWNER;
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<Parcel>(|parcels| parcels.index(definition))
        .build()
        .unwrap();

    let informer = factory.parcels().informer();
    assert_eq!(definition.name(), "owner");
    assert_eq!(informer.indexer().index_status().len(), 1);
    factory.parcels().by_owner().unwrap();
    assert_eq!(informer.indexer().index_status().len(), 1);
}

#[tokio::test]
async fn a_handwritten_definition_of_the_same_name_and_type_is_an_error() {
    static HANDWRITTEN: IndexDefinition<Parcel, String> =
        IndexDefinition::new("owner", |parcel: &Parcel| vec![parcel.spec.owner.to_uppercase()]);
    let server = ApiServer::start();
    for derived_first in [true, false] {
        let factory = SharedInformerFactory::new(server.client());
        let parcels = factory.parcels();
        let informer = parcels.informer();
        let error = match derived_first {
            true => {
                parcels.by_owner().unwrap();
                informer.index(&HANDWRITTEN).unwrap_err()
            }
            false => {
                informer.index(&HANDWRITTEN).unwrap();
                parcels.by_owner().unwrap_err()
            }
        };
        assert!(error.to_string().contains("owner"), "{error}");
        assert_eq!(informer.indexer().index_status().len(), 1);
    }
}

#[tokio::test]
async fn a_name_that_is_used_by_a_closure_is_an_error() {
    let server = ApiServer::start();
    let factory = SharedInformerFactory::new(server.client());
    let parcels = factory.parcels();
    parcels
        .informer()
        .add_index("owner", |_: &Parcel| Some("somebody".to_owned()))
        .unwrap();
    let error = parcels.by_owner().unwrap_err();
    assert!(error.to_string().contains("owner"), "{error}");
}
