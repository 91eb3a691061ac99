//! Services and their endpoint slices, joined: pure reads of two caches.

use std::collections::{BTreeMap, BTreeSet};

use informers::core::v1::ServiceLister;
use informers::discovery::v1::EndpointSliceLister;
use informers::{ObjectKey, Selector};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

/// The label of a slice that says which service it belongs to.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The ready addresses of each service.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table(BTreeMap<ObjectKey, BTreeSet<String>>);

/// Joins the selected services with their slices. A service without slices has no addresses; a slice without its service is
/// not seen.
pub(crate) fn ready_addresses(
    services: &ServiceLister,
    slices: &EndpointSliceLister,
    selector: &Selector,
) -> Table {
    let mut table = BTreeMap::new();
    services.for_each(selector, |service| {
        let Some(key) = ObjectKey::of(&service.metadata) else {
            return;
        };
        // The names of services are values a label may have.
        let Ok(of_service) = Selector::from_labels([(SERVICE_NAME, key.name())]) else {
            return;
        };
        let namespace = slices.namespace(key.namespace().unwrap_or_default());
        let mut ready = BTreeSet::new();
        namespace.for_each(&of_service, |slice| ready.extend(ready_of(slice)));
        table.insert(key, ready);
    });
    Table(table)
}

fn ready_of(slice: &EndpointSlice) -> impl Iterator<Item = String> {
    // A list that may be missing in newer versions of k8s-openapi, and not in older ones: this reads both.
    let endpoints: Option<&Vec<Endpoint>> = (&slice.endpoints).into();
    let ready = endpoints.into_iter().flatten().filter(|endpoint| {
        let conditions = endpoint.conditions.as_ref();
        // The API says that an unknown state is to be taken for ready.
        conditions.and_then(|conditions| conditions.ready) != Some(false)
    });
    ready.flat_map(|endpoint| endpoint.addresses.clone())
}

impl Table {
    /// A line for each service that is new, gone, or has other addresses.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<String> {
        let gone = before.0.keys().filter(|service| !self.0.contains_key(*service));
        let gone = gone.map(|service| format!("{:<20} gone", service.to_string()));
        let changed = self
            .0
            .iter()
            .filter(|(service, ready)| before.0.get(*service) != Some(*ready));
        let changed = changed.map(|(service, ready)| {
            let addresses = Vec::from_iter(ready.iter().map(String::as_str)).join(" ");
            format!("{:<20} {} ready  {addresses}", service.to_string(), ready.len())
        });
        gone.chain(changed).collect()
    }
}

#[cfg(test)]
mod tests {
    use informers::Lister;
    use serde_json::json;

    use super::*;
    use k8s_openapi::api::core::v1::Service;

    fn service(name: &str) -> Service {
        let service = json!({ "metadata": { "namespace": "shop", "name": name } });
        serde_json::from_value(service).unwrap()
    }

    /// A slice with one endpoint.
    fn slice(
        namespace: &str,
        name: &str,
        service: &str,
        address: &str,
        ready: Option<bool>,
    ) -> EndpointSlice {
        serde_json::from_value(json!({
            "metadata": { "namespace": namespace, "name": name, "labels": { SERVICE_NAME: service } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": [address], "conditions": { "ready": ready } }],
        }))
        .unwrap()
    }

    fn check(services: &[&str], slices: Vec<EndpointSlice>, expected: &[&str]) {
        let services = Lister::from_objects(services.iter().map(|name| service(name)));
        let table = ready_addresses(&services, &Lister::from_objects(slices), &Selector::everything());
        let lines = table.changes_since(&Table::default());
        let lines = lines
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(Vec::from_iter(lines), expected);
    }

    #[test]
    fn the_slices_of_a_service_are_put_together_by_label_and_namespace() {
        let slices = vec![
            slice("shop", "cart-b", "cart", "10.0.0.2", Some(true)),
            slice("shop", "cart-a", "cart", "10.0.0.1", None),
            slice("shop", "front-a", "front", "10.0.0.3", Some(true)),
            slice("other", "cart-a", "cart", "10.0.0.9", Some(true)),
        ];
        check(
            &["cart", "empty"],
            slices,
            &["shop/cart 2 ready 10.0.0.1 10.0.0.2", "shop/empty 0 ready"],
        );
    }

    #[test]
    fn an_address_that_is_not_ready_is_left_out() {
        let slices = vec![slice("shop", "cart-a", "cart", "10.0.0.1", Some(false))];
        check(&["cart"], slices, &["shop/cart 0 ready"]);
    }

    #[test]
    fn only_what_changed_is_told() {
        let of = |services: &[&str]| {
            let services = Lister::from_objects(services.iter().map(|name| service(name)));
            ready_addresses(&services, &Lister::from_objects([]), &Selector::everything())
        };
        let (before, after) = (of(&["a", "b"]), of(&["b", "c"]));
        let lines = after.changes_since(&before);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("shop/a") && lines[0].ends_with("gone"),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("shop/c"), "{lines:?}");
    }
}
