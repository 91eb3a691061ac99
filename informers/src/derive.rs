//! The derive macros, with what users read about them: a proc macro cannot have examples that need kube.

/// Gives a kind of your own what built-in kinds have: names for its informer and its listers, and an accessor of the factory.
///
/// # On a custom resource
///
/// It stands beside kube's `CustomResource`, before it or after it, and reads the same `#[kube(..)]`:
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
/// For a kind `Order` it writes, with the visibility of the struct:
///
/// | item | what it is |
/// |---|---|
/// | `OrderInformer` | [`ResourceInformer<Order>`](crate::ResourceInformer), what `factory.orders()` returns |
/// | `OrderLister` | [`Lister<Order>`](crate::Lister) |
/// | `OrderNamespaceLister` | [`NamespaceLister<Order>`](crate::NamespaceLister); not if the kind is known to have no namespaces |
/// | `OrderFactoryExt` | the trait with `factory.orders()` |
/// | `OrderListerExt` | the trait with `lister.orders("web")`; only beside `#[kube(namespaced)]` |
/// | `OrderIndexes` | the trait with the accessors of [indexes](#indexes), if there are any |
///
/// Other modules import the traits: `use crate::orders::{OrderFactoryExt as _, OrderListerExt as _};`.
///
/// The names come from the type, which is the kind or kube's `root`. The accessor is the plural, as `plural` says it or as kube's derive
/// makes it, with the words of the kind apart: `IPAddressPool` has `ip_address_pools()`. `accessor` says otherwise, and has to if the
/// factory has a method of that name:
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
/// On a type that implements `kube::Resource` by itself the accessor is needed, because a macro cannot ask the type for its plural:
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
/// With `#[informer(of = ..)]` the struct is a [projection](crate::projection): a kind of which only some fields are kept.
///
/// # Indexes
///
/// `index(name = "..", by = "..")`, any number of times, gives the informer an accessor `by_` and the name:
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
/// fn with_index_from_the_start(client: kube::Client) -> Result<SharedInformerFactory, informers::error::FactoryBuildError> {
///     SharedInformerFactory::builder(client)
///         .kind::<Order>(|orders| orders.index(OrderInformer::BY_OWNER)) // &'static IndexDefinition<Order, String>
///         .build()
/// }
/// # }
/// ```
///
/// - `by` is a path of fields from the root of the object, which goes through `Option` and `Vec` (and one within the other) and clones what it
///   finds; a dot in front marks a path of one field. Or it is the name of a function from `&Order` to anything that can be iterated over:
///   `Option<V>`, `Vec<V>`, an iterator.
/// - `value` is the type of the values, `String` if nothing is said: any type that is `Ord + Clone + Send + Sync`.
/// - `name` is in snake case. The index is added when its accessor is first called, or by the factory's options.
///
/// # If the crate has another name
///
/// `#[informer(crate = "path::to::informers")]` says where the crate `informers` is.
pub use informer_derive::Informer;
/// Makes a struct a part of a [projection](crate::projection): it has some of the fields of the type in `#[projection(of = ..)]`, under
/// the names they have there.
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
/// On a field, `#[projection(any)]` leaves its type unchecked, and `#[projection(rename = "..")]` gives its name in JSON where the whole type, not being one of
/// k8s-openapi's, does not call it camelCase of its Rust name. On the struct, `#[projection(crate = "..")]` says where the crate `informers` is.
pub use informer_derive::Projection;
