//! Objects that are nested too deeply for a decoder: the API server accepts 10,000 levels.

use super::*;

/// A value with this many levels, alternating between objects and arrays.
fn nested(levels: usize) -> String {
    let half = levels / 2;
    format!("{}1{}", r#"{"a":["#.repeat(half), "]}".repeat(half))
}

fn resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets")
}

/// A deep object with its metadata after the deep field, and before it.
fn deep_objects() -> [String; 2] {
    let deep = nested(10_000);
    [
        format!(r#"{{"spec":{deep},"metadata":{{"name":"deep","namespace":"ns","uid":"u"}}}}"#),
        format!(r#"{{"metadata":{{"name":"deep","namespace":"ns","uid":"u"}},"spec":{deep}}}"#),
    ]
}

fn widgets(text: String) -> KubeSource<DynamicObject> {
    let client = client(move |_| Response::new(body(chunks(text.as_bytes(), 1000))));
    KubeSource::of_type(client, &resource(), Scope::All, KubeSourceOptions::default()).unwrap()
}

/// Checks key, UID and reason of the undecodable object.
fn check(object: &Undecodable) {
    assert_eq!(object.key, Some(ObjectKey::namespaced("ns", "deep")));
    assert_eq!(object.uid.as_deref(), Some("u"));
    assert!(object.reason.contains("is nested too deeply"), "{object}");
}

/// Guarantee I16: a tenant can write such an object through a field without a schema, and it must not stop
/// the list.
#[tokio::test]
async fn a_deeply_nested_object_in_a_list_affects_only_itself() {
    for deep in deep_objects() {
        let text = format!(
            r#"{{"metadata":{{"resourceVersion":"5"}},"items":[
                {{"metadata":{{"name":"a"}}}},{deep},{{"metadata":{{"name":"b"}}}}]}}"#
        );
        let events: Vec<_> = widgets(text).list(whole_list()).await.unwrap().collect().await;
        let [
            Ok(ListEvent::Metadata(_)),
            Ok(ListEvent::Item(a)),
            Ok(ListEvent::Undecodable(object)),
            Ok(ListEvent::Item(b)),
        ] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!(
            (a.metadata.name.as_deref(), b.metadata.name.as_deref()),
            (Some("a"), Some("b"))
        );
        check(object);
    }
}

#[tokio::test]
async fn a_deeply_nested_object_in_a_watch_affects_only_itself() {
    for deep in deep_objects() {
        for frame in [
            format!(r#"{{"type":"ADDED","object":{deep}}}"#),
            format!(r#"{{"object":{deep},"type":"ADDED"}}"#),
        ] {
            let text = format!(
                "{frame}\n{}\n",
                r#"{"type":"DELETED","object":{"metadata":{"name":"b"}}}"#
            );
            let events: Vec<_> = widgets(text)
                .watch(watch_after("1"))
                .await
                .unwrap()
                .collect()
                .await;
            let [
                Ok(WatchEvent::Undecodable { object, .. }),
                Ok(WatchEvent::Deleted(_)),
            ] = &events[..]
            else {
                panic!("{events:?}")
            };
            check(object);
        }
    }
}

/// A type that does not read the deep field decodes the object.
#[tokio::test]
async fn a_deep_field_that_is_not_read_is_ignored() {
    let text = format!(
        r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{{"unread":{},"metadata":{{"name":"a"}}}}]}}"#,
        nested(10_000)
    );
    let source = source(
        client(move |_| Response::new(body(chunks(text.as_bytes(), 1000)))),
        inline(),
    );
    assert_eq!(list_lines(&source).await[1], "item a");
}

/// Returns the types of the same object in a list and in a watch.
async fn types_of(list_kind: &str, resource: &ApiResource) -> Vec<Option<(String, String)>> {
    let list = format!(
        r#"{{{list_kind}"metadata":{{"resourceVersion":"5"}},"items":[{{"metadata":{{"name":"a"}}}}]}}"#
    );
    let event = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Widget\",\"apiVersion\":\"example.com/v1\",\
                 \"metadata\":{\"name\":\"a\"}}}\n";
    let client = client(move |request| {
        let is_watch = request.uri().to_string().contains("watch=true");
        let text = if is_watch { event } else { list.as_str() };
        Response::new(body([Ok(text.as_bytes().to_vec())]))
    });
    let source =
        KubeSource::<DynamicObject>::of_type(client, resource, Scope::All, KubeSourceOptions::default())
            .unwrap();
    let mut types = Vec::new();
    let mut record = |object: &DynamicObject| {
        let names = object.types.clone().map(|types| (types.kind, types.api_version));
        types.push(names);
    };
    let listed: Vec<_> = source.list(whole_list()).await.unwrap().collect().await;
    let watched: Vec<_> = source.watch(watch_after("1")).await.unwrap().collect().await;
    for event in &listed {
        if let Ok(ListEvent::Item(object)) = event {
            record(object);
        }
    }
    for event in &watched {
        if let Ok(WatchEvent::Added(object)) = event {
            record(object);
        }
    }
    types
}

#[tokio::test]
async fn a_dynamic_object_has_the_same_type_from_a_list_and_from_a_watch() {
    let expected = vec![Some(("Widget".to_owned(), "example.com/v1".to_owned())); 2];
    let list_kind = r#""kind":"WidgetList","apiVersion":"example.com/v1","#;
    assert_eq!(types_of(list_kind, &resource()).await, expected);
    // From the resource, if the list has no type.
    assert_eq!(types_of("", &resource()).await, expected);
    // From the list, if only the plural of the resource is known.
    let mut unknown = resource();
    unknown.kind = String::new();
    assert_eq!(types_of(list_kind, &unknown).await, expected);
    assert_eq!(
        types_of(r#""kind":"List","apiVersion":"v1","#, &unknown).await[0],
        None
    );
}

#[tokio::test]
async fn metadata_has_its_type_from_a_list_as_well() {
    for (list, expected) in [
        (
            r#""kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","#,
            "PartialObjectMetadata",
        ),
        (r#""kind":"PodList","apiVersion":"v1","#, "Pod"),
    ] {
        let text = format!(
            r#"{{{list}"metadata":{{"resourceVersion":"5"}},"items":[{{"metadata":{{"name":"a"}}}}]}}"#
        );
        let client = client(move |_| Response::new(body([Ok(text.clone().into_bytes())])));
        let options = KubeSourceOptions::default();
        let source = KubeSource::<PartialObjectMeta<Pod>>::new(client, Scope::All, options).unwrap();
        let events: Vec<_> = source.list(whole_list()).await.unwrap().collect().await;
        let Ok(ListEvent::Item(object)) = &events[1] else {
            panic!("{events:?}")
        };
        assert_eq!(
            object.types.as_ref().map(|types| types.kind.as_str()),
            Some(expected)
        );
    }
}
