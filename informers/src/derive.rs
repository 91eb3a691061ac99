//! The derive macros and their documentation: a proc-macro crate cannot have examples that need kube.

/// Adds what built-in kinds have to a custom kind: aliases for its informer and listers, and an accessor on
/// the factory.
///
/// # On a custom resource
///
/// Derive it beside kube's `CustomResource`, in any order. It reads the same `#[kube(..)]` attribute:
///
/// ```
/// # mod example {
/// use informers::{Informer, SharedInformerFactory};
/// use kube::CustomResource;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
/// #[kube(group = "shop.example", version = "v1", kind = "Order", namespaced, schema = "disabled")]
/// pub struct OrderSpec {
///     pub items: u32,
/// }
///
/// fn items(factory: &SharedInformerFactory) -> Option<u32> {
///     let orders: OrderInformer = factory.orders();
///     let lister: OrderLister = orders.lister();
///     Some(lister.orders("web").get("order-1")?.spec.items)
/// }
/// # }
/// ```
///
/// For a kind `Order` it generates, with the visibility of the struct:
///
/// | item | meaning |
/// |---|---|
/// | `OrderInformer` | [`ResourceInformer<Order>`](crate::ResourceInformer); `factory.orders()` returns it |
/// | `OrderLister` | [`Lister<Order>`](crate::Lister) |
/// | `OrderNamespaceLister` | [`NamespaceLister<Order>`](crate::NamespaceLister); not for cluster-scoped kinds |
/// | `OrderFactoryExt` | the trait with `factory.orders()` |
/// | `OrderListerExt` | the trait with `lister.orders("web")`; only with `#[kube(namespaced)]` |
/// | `OrderIndexes` | the trait with the accessors of [indexes](#indexes), if any |
///
/// Other modules import the traits: `use crate::orders::{OrderFactoryExt as _, OrderListerExt as _};`.
///
/// The names derive from the type, which is the kind or kube's `root`. The accessor is the plural (`plural`,
/// or the one kube's derive computes) with the word breaks of the kind: `IPAddressPool` has
/// `ip_address_pools()`. `accessor` overrides it, and must if the factory already has a method of that name:
///
/// ```
/// # mod example {
/// # use informers::{Informer, SharedInformerFactory};
/// # use kube::CustomResource;
/// # use serde::{Deserialize, Serialize};
/// #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
/// #[kube(group = "shop.example", version = "v1", kind = "App", namespaced, schema = "disabled")]
/// #[informer(accessor = "shop_apps")] // `factory.apps()` is the built-in group
/// pub struct AppSpec {}
/// # fn example(factory: &SharedInformerFactory) -> AppInformer { factory.shop_apps() }
/// # }
/// ```
///
/// # On any other type
///
/// On a type with its own `kube::Resource` implementation, `accessor` is required, because a macro cannot
/// read the plural of a type:
///
/// ```
/// # mod example {
/// # use informers::{Informer, SharedInformerFactory};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::ObjectMeta;
/// use serde::Deserialize;
///
/// #[derive(kube::Resource, Informer, Clone, Debug, Deserialize)]
/// #[resource(inherit = ConfigMap)]
/// #[informer(accessor = "settings")]
/// pub struct Setting {
///     pub metadata: ObjectMeta,
///     pub data: Data,
/// }
///
/// #[derive(Clone, Debug, Deserialize)]
/// pub struct Data {
///     pub level: String,
/// }
///
/// fn level(factory: &SharedInformerFactory) -> Option<String> {
///     let setting = factory.settings().lister().namespace("web").get("log")?;
///     Some(setting.data.level.clone())
/// }
/// # }
/// ```
///
/// With `#[informer(of = ..)]` the struct is a [projection](crate::projection): only some fields of a kind
/// are kept.
///
/// # Indexes
///
/// `index(name = "..", by = "..")`, any number of times, adds an accessor `by_<name>` to the informer:
///
/// ```
/// # mod example {
/// use informers::{Informer, SharedInformerFactory};
/// use kube::CustomResource;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
/// #[kube(group = "shop.example", version = "v1", kind = "Order", namespaced, schema = "disabled")]
/// #[informer(index(name = "owner", by = "spec.owner"))]
/// #[informer(index(name = "total", by = total, value = u32))]
/// pub struct OrderSpec {
///     pub owner: Option<String>,
///     pub prices: Vec<u32>,
/// }
///
/// fn total(order: &Order) -> Option<u32> {
///     order.spec.prices.iter().copied().reduce(|sum, price| sum.saturating_add(price))
/// }
///
/// fn example(factory: &SharedInformerFactory) -> Result<(), Box<dyn std::error::Error>> {
///     let by_owner = factory.orders().by_owner()?; // Index<Order, String>
///     let of_ann = by_owner.get("ann"); // Vec<Arc<Order>>
///     let for_free = factory.orders().by_total()?.get(&0);
///     Ok(())
/// }
///
/// fn with_index_from_the_start(
///     client: kube::Client,
/// ) -> Result<SharedInformerFactory, Box<dyn std::error::Error>> {
///     let by_owner = OrderInformer::BY_OWNER; // &'static IndexDefinition<Order, String>
///     let builder = SharedInformerFactory::builder(client);
///     Ok(builder.kind::<Order>(|orders| orders.index(by_owner)).build()?)
/// }
/// # }
/// ```
///
/// - `by` is a path of fields from the root of the object. It passes through `Option` and `Vec`, also nested,
///   and clones the value; a leading dot marks a path of one field. Or it is the name of a function from
///   `&Order` to an `Option<V>`, a `Vec<V>` or another iterator.
/// - `value` is the value type: any type that is `Ord + Clone + Send + Sync`. Default: `String`.
/// - `name` is in snake case. The first call of the accessor, or the options of the factory, add the index.
///
/// # If the crate has another name
///
/// `#[informer(crate = "path::to::informers")]` sets the path of the crate `informers`.
pub use informer_derive::Informer;
/// Makes a struct a part of a [projection](crate::projection): it has some fields of the type in
/// `#[projection(of = ..)]`, under the same names.
///
/// ```
/// use informers::Projection;
/// use k8s_openapi::api::core::v1::ServiceSpec;
///
/// #[derive(Projection)]
/// #[projection(of = ServiceSpec)]
/// struct Address {
///     cluster_ip: Option<String>,
///     #[projection(any)]
///     type_: ServiceType,
/// }
///
/// #[derive(Default, PartialEq, Debug, serde::Deserialize)]
/// enum ServiceType {
///     #[default]
///     ClusterIP,
///     NodePort,
///     LoadBalancer,
///     ExternalName,
/// }
///
/// let json = r#"{"clusterIP": "10.2.0.1", "type": "NodePort", "ports": [{"port": 80}]}"#;
/// let address: Address = serde_json::from_str(json)?;
/// assert_eq!(address.cluster_ip.as_deref(), Some("10.2.0.1"));
/// assert_eq!(address.type_, ServiceType::NodePort);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// On a field, `#[projection(any)]` leaves its type unchecked. `#[projection(rename = "..")]` sets its JSON
/// name, if the whole type is not from k8s-openapi and the JSON name is not the camelCase form of the Rust
/// name. On the struct, `#[projection(crate = "..")]` sets the path of the crate `informers`.
pub use informer_derive::Projection;
