//! The accessor follows kube's rule for plurals exactly.

use std::borrow::Cow;

use informers::{Informer, SharedInformerFactory};
use kube::{CustomResource, Resource};
use serde::{Deserialize, Serialize};

/// Returns the plural that kube's derive gave a kind.
fn plural<K: Resource<DynamicType = ()>>() -> Cow<'static, str> {
    K::plural(&()).into_owned().into()
}

/// Derives a kind, and checks that its accessor is kube's plural with word breaks. A wrong accessor does not
/// compile.
macro_rules! check {
    ($kind:ident, $name:literal, $accessor:ident $(, $key:ident = $value:literal)*) => {{
        #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
        #[kube(group = "example.com", version = "v1", kind = $name, schema = "disabled" $(, $key = $value)*)]
        struct Spec {}

        let _: fn(&SharedInformerFactory) -> informers::ResourceInformer<$kind> =
            |factory| factory.$accessor();
        assert_eq!(stringify!($accessor).replace('_', ""), plural::<$kind>());
    }};
}

#[test]
fn plurals_are_those_of_kube() {
    check!(Widget, "Widget", widgets);
    check!(Bus, "Bus", buses);
    check!(Glass, "Glass", glasses);
    check!(Box, "Box", boxes);
    check!(Quiz, "Quiz", quizes);
    check!(Branch, "Branch", branches);
    check!(Mesh, "Mesh", meshes);
    check!(NetworkPolicy, "NetworkPolicy", network_policies);
    check!(Gateway, "Gateway", gateways);
    check!(Envoy, "Envoy", envoys);
    check!(Query, "Query", queries);
    check!(HTTPRoute, "HTTPRoute", http_routes);
    check!(IPAddressPool, "IPAddressPool", ip_address_pools);
    check!(Endpoints, "Endpoints", endpointses);
    check!(Person, "Person", persons);
    check!(Y2, "Y2", y2s);
}

#[test]
fn a_given_plural_or_singular_has_precedence() {
    check!(Person, "Person", people, plural = "people");
    check!(Datum, "Datum", data, plural = "data", singular = "datum");
    check!(DataSet, "DataSet", data_sets, plural = "datasets");
    check!(Child, "Child", kids, singular = "kid");
    check!(Wolf, "Wolf", wolfies, singular = "wolfy");
}
