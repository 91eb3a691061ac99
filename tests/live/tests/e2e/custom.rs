//! Custom resources, whose definition comes, changes and goes while their informer runs.

use informer_core::{SharedInformer, State};
use informer_it::recorder::Recorder;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::support::{BOUND, Room, agree, eventually, shared, short_waits, start, until, visible};

/// A definition that no other test uses.
struct Custom {
    kind: ApiResource,
    definitions: Api<CustomResourceDefinition>,
    objects: Api<DynamicObject>,
    client: Client,
    namespace: String,
}

impl Custom {
    fn new(room: &Room, plural: &str, kind: &str) -> Self {
        let gvk = GroupVersionKind::gvk("live.example.com", "v1", kind);
        let kind = ApiResource::from_gvk_with_plural(&gvk, plural);
        let client = room.client();
        Self {
            definitions: Api::all(client.clone()),
            objects: Api::namespaced_with(client.clone(), &room.name, &kind),
            namespace: room.name.clone(),
            kind,
            client,
        }
    }

    fn name(&self) -> String {
        format!("{}.live.example.com", self.kind.plural)
    }

    /// Makes the definition, with a schema that has a `size` only.
    async fn define(&self) {
        let definition = json!({
            "metadata": {"name": self.name()},
            "spec": {
                "group": "live.example.com",
                "scope": "Namespaced",
                "names": {"plural": self.kind.plural, "kind": self.kind.kind},
                "versions": versions(json!({"size": {"type": "integer"}})),
            },
        });
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        // One of the same name may still be on its way out.
        eventually(async || {
            let made = self.definitions.create(&PostParams::default(), &definition).await;
            made.map(|_| ()).map_err(|error| error.to_string())
        })
        .await;
    }

    /// Adds a field to the schema.
    async fn redefine(&self) {
        let fields = json!({"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}});
        let patch = Patch::Merge(json!({"spec": {"versions": versions(fields)}}));
        let parameters = PatchParams::default();
        self.definitions
            .patch(&self.name(), &parameters, &patch)
            .await
            .unwrap();
    }

    async fn undefine(&self) {
        let parameters = DeleteParams::default();
        self.definitions.delete(&self.name(), &parameters).await.unwrap();
    }

    /// Makes an object, as soon as the server serves the kind.
    async fn create(&self, name: &str) {
        let object = DynamicObject::new(name, &self.kind).data(json!({"spec": {"size": 1}}));
        eventually(async || {
            let made = self.objects.create(&PostParams::default(), &object).await;
            let made = made.map_err(|error| error.to_string())?;
            visible(&self.objects, &made).await;
            Ok(())
        })
        .await;
    }

    fn informer(&self) -> SharedInformer<DynamicObject> {
        SharedInformer::builder_with(self.client.clone(), self.kind.clone())
            .namespace(&self.namespace)
            .reflector(|_| short_waits())
            .build()
            .unwrap()
    }
}

/// The one version of a definition whose objects have these fields.
fn versions(fields: Value) -> Value {
    let spec = json!({"type": "object", "properties": fields});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}])
}

fn is_live(state: &State) -> bool {
    matches!(state, State::Live)
}

fn is_not_found(state: &State) -> bool {
    matches!(state, State::NotFound { .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_comes_changes_goes_and_comes_again() {
    let room = Room::new(shared().await, "custom").await;
    let custom = Custom::new(&room, "widgets", "Widget");
    let informer = custom.informer();
    let (recorder, _) = Recorder::of(&informer).unwrap();

    // The definition does not exist yet: reported, and not in sync.
    informer.start().unwrap();
    until(&informer, "not found", |status| is_not_found(&status.state)).await;
    assert!(!informer.has_synced());

    // It comes.
    custom.define().await;
    informer.synced_within(BOUND).await.unwrap();
    custom.create("a").await;
    custom.create("b").await;
    agree(&informer, &recorder, &custom.objects).await;

    // It changes: new objects have the new default.
    custom.redefine().await;
    eventually(async || {
        let number = informer.indexer().len();
        custom.create(&format!("new-{number}")).await;
        agree(&informer, &recorder, &custom.objects).await;
        let cached = informer.indexer().list();
        match cached.iter().any(|object| object.data["spec"]["color"] == "red") {
            true => Ok(()),
            false => Err("no object has the new default yet".to_owned()),
        }
    })
    .await;

    // It goes, and all objects with it.
    custom.undefine().await;
    until(&informer, "not found", |status| is_not_found(&status.state)).await;
    eventually(
        async || match (informer.indexer().len(), recorder.final_state().unwrap().len()) {
            (0, 0) => Ok(()),
            left => Err(format!("{left:?} objects are left")),
        },
    )
    .await;
    assert!(informer.has_synced(), "that it was once is not taken back");

    // It comes again, with the same informer.
    custom.define().await;
    custom.create("a").await;
    until(&informer, "live", |status| is_live(&status.state)).await;
    agree(&informer, &recorder, &custom.objects).await;
    assert_eq!(informer.indexer().len(), 1);
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_keeps_an_object_until_it_is_taken_off() {
    let room = Room::new(shared().await, "finalizer").await;
    let custom = Custom::new(&room, "gadgets", "Gadget");
    custom.define().await;
    custom.create("held").await;
    let informer = custom.informer();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    let patch = async |finalizers: Value| {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        let parameters = PatchParams::default();
        custom.objects.patch("held", &parameters, &patch).await.unwrap();
    };
    patch(json!(["live.example.com/hold"])).await;
    custom
        .objects
        .delete("held", &DeleteParams::default())
        .await
        .unwrap();
    agree(&informer, &recorder, &custom.objects).await;
    let cached = informer.indexer().list();
    assert!(
        cached[0].metadata.deletion_timestamp.is_some(),
        "it is on its way out, and there"
    );
    patch(json!(null)).await;
    agree(&informer, &recorder, &custom.objects).await;
    assert_eq!(
        recorder.summary(),
        ["initial held", "update held", "update held", "delete held"]
    );
    informer.shutdown().await;
}
