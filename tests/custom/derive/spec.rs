//! `Informer` derived on a spec together with kube's `CustomResource`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use informer_testing::ApiServer;
use informers::{Event, Informer, Selector, SharedInformerFactory};
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::support::{create_in, define, names, synced};

/// `Informer` after `CustomResource`.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", namespaced)]
#[kube(schema = "disabled", shortname = "ord", doc = "An order, with a comma")]
pub(crate) struct OrderSpec {
    items: u32,
}

/// `Informer` before `CustomResource`, on a cluster-scoped kind.
#[derive(Informer, CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "shop.example",
    version = "v1",
    kind = "TaxPolicy",
    schema = "disabled"
)]
struct TaxPolicySpec {
    percent: u32,
}

/// A kind with another type name and an irregular plural, and attributes whose values are not literals.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "shop.example",
    version = "v1",
    kind = "Foot",
    root = "FootObject",
    plural = "feet",
    status = FootStatus,
    scale(
        spec_replicas_path = ".spec.toes",
        status_replicas_path = ".status.toes"
    ),
    printcolumn(name = "Toes", type_ = "integer", json_path = ".spec.toes"),
    crates(kube_core = "kube::core", std = "::std"),
    namespaced = true,
    schema = "disabled"
)]
struct FootSpec {
    toes: u32,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct FootStatus {
    toes: u32,
}

/// A chosen accessor, on a spec that is an enum.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "shop.example",
    version = "v1",
    kind = "App",
    namespaced,
    schema = "disabled"
)]
#[informer(accessor = "shop_apps")]
enum AppSpec {
    Web { port: u16 },
    Batch,
}

/// The derive on the type that kube generates, where kube's attributes are not visible.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "shop.example",
    version = "v1",
    kind = "Refund",
    namespaced,
    schema = "disabled"
)]
#[kube(derive = "Informer", attr = "informer(accessor = \"refunds\")")]
struct RefundSpec {
    amount: u32,
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_kind_is_read_through_its_generated_names() {
    let server = ApiServer::start();
    define::<Order>(&server);
    create_in(&server, "web", Order::new("a", OrderSpec { items: 3 }));
    create_in(&server, "db", Order::new("b", OrderSpec { items: 5 }));
    let factory = SharedInformerFactory::new(server.client());

    let orders: OrderInformer = factory.orders();
    let received = Arc::new(AtomicU32::new(0));
    let items = received.clone();
    let add = move |event: Event<Order>| {
        items.fetch_add(event.object().spec.items, Ordering::SeqCst);
    };
    orders.informer().add_handler(add).unwrap();
    let lister: OrderLister = orders.lister();
    synced(&factory).await;

    let of_web: OrderNamespaceLister = lister.orders("web");
    assert_eq!(of_web.get("a").map(|order| order.spec.items), Some(3));
    assert!(of_web.get("b").is_none());
    assert_eq!(names(&lister.list(&Selector::everything())), ["b", "a"]);
    assert_eq!(received.load(Ordering::SeqCst), 8);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_kind_is_read_by_name() {
    let server = ApiServer::start();
    define::<TaxPolicy>(&server);
    let policy = TaxPolicy::new("reduced", TaxPolicySpec { percent: 7 });
    server.create(&policy).unwrap();
    let factory = SharedInformerFactory::new(server.client());

    let lister: TaxPolicyLister = factory.tax_policies().lister();
    synced(&factory).await;

    assert_eq!(lister.get("reduced").map(|policy| policy.spec.percent), Some(7));
}

#[tokio::test(start_paused = true)]
async fn names_come_from_the_type_and_the_accessor_from_the_plural() {
    let server = ApiServer::start();
    define::<FootObject>(&server);
    create_in(&server, "web", FootObject::new("left", FootSpec { toes: 5 }));
    let factory = SharedInformerFactory::new(server.client());

    let feet: FootObjectInformer = factory.feet();
    let lister: FootObjectLister = feet.lister();
    synced(&factory).await;

    assert_eq!(lister.feet("web").get("left").map(|foot| foot.spec.toes), Some(5));
}

#[tokio::test(start_paused = true)]
async fn a_chosen_accessor_replaces_one_that_the_factory_has() {
    let server = ApiServer::start();
    define::<App>(&server);
    create_in(&server, "web", App::new("front", AppSpec::Web { port: 80 }));
    let factory = SharedInformerFactory::new(server.client());

    let lister = factory.shop_apps().lister();
    synced(&factory).await;

    let front = lister.shop_apps("web").require("front").unwrap();
    assert!(matches!(front.spec, AppSpec::Web { port: 80 }));
}

#[tokio::test(start_paused = true)]
async fn the_type_that_kube_generates_can_have_the_derive() {
    let server = ApiServer::start();
    define::<Refund>(&server);
    create_in(&server, "web", Refund::new("a", RefundSpec { amount: 9 }));
    let factory = SharedInformerFactory::new(server.client());

    let refunds: RefundInformer = factory.refunds();
    let lister: RefundLister = refunds.lister();
    synced(&factory).await;

    let of_web: RefundNamespaceLister = lister.namespace("web");
    assert_eq!(of_web.get("a").map(|refund| refund.spec.amount), Some(9));
}

#[tokio::test(start_paused = true)]
async fn two_kinds_and_a_built_in_one_share_a_factory() {
    let server = ApiServer::start();
    define::<Order>(&server);
    define::<TaxPolicy>(&server);
    create_in(&server, "web", Order::new("a", OrderSpec { items: 3 }));
    let factory = SharedInformerFactory::new(server.client());

    let orders = factory.orders().lister();
    let policies = factory.tax_policies().lister();
    let namespaces = factory.core().v1().namespaces().lister();
    let of_another_part = factory.clone().orders().lister();
    synced(&factory).await;

    assert_eq!(factory.informers().len(), 3);
    assert_eq!((orders.len(), policies.len()), (1, 0));
    assert!(namespaces.get("web").is_some());
    let (one, other) = (orders.orders("web"), of_another_part.orders("web"));
    assert!(Arc::ptr_eq(&one.get("a").unwrap(), &other.get("a").unwrap()));
    assert_eq!(server.requests().of("orders").len(), 1);
}
