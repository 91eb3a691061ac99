//! The spans of an informer: requests, commits and calls of handlers, with resource, key and version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use informer_core::{Event, HandlerOptions, InitialState};
use k8s_openapi::api::core::v1::ConfigMap;
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

use crate::informer_logs::Line;
use crate::support::{builder_of, item, server_with, settled, start};

/// Keeps the spans of this thread, as text.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<BTreeMap<u64, String>>>);

impl Spans {
    /// The spans with this name, oldest first.
    fn of(&self, name: &str) -> Vec<String> {
        let begin = format!("{name}: ");
        let spans = self.0.lock().unwrap();
        let found = spans.values().filter_map(|span| span.strip_prefix(&begin));
        found.map(|fields| fields.trim_end().to_owned()).collect()
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("informer_core")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("{}: ", span.metadata().name()));
        span.record(&mut line);
        let mut spans = self.0.lock().unwrap();
        let id = spans.len() as u64 + 1;
        spans.insert(id, line.0);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        if let Some(span) = self.0.lock().unwrap().get_mut(&span.into_u64()) {
            *span += &line.0;
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &tracing::Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn requests_commits_and_handlers_have_spans_with_resource_key_and_version() {
    for (initial, request) in [
        (InitialState::WatchList, "watch_list"),
        (InitialState::List, "list"),
    ] {
        let spans = Spans::default();
        let _guard = informer_it::logging::to(spans.clone());
        let server = server_with(&["a"]);
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(initial)
            .build()
            .unwrap();
        let options = HandlerOptions::default().name("copies");
        let _registration = informer
            .add_async_handler_with(options, |_: Event<ConfigMap>| async {})
            .unwrap();
        start(&informer).await;
        let first = informer.indexer().resource_version().unwrap();
        let of_object = informer.indexer().list()[0].metadata.resource_version.clone();
        server.update(&item("a", "2")).unwrap();
        settled(&informer, &server).await;
        let last = informer.indexer().resource_version().unwrap();
        informer.shutdown().await;

        assert_eq!(
            spans.of(request),
            [r#"resource="configmaps" scope=all namespaces"#]
        );
        if initial == InitialState::List {
            let watch = format!(r#"resource="configmaps" scope=all namespaces rv={first}"#);
            assert_eq!(spans.of("watch"), [watch]);
        }
        let commits = spans.of("commit");
        let commit = |keys: usize, rv: &str| format!(r#"resource="configmaps" keys={keys} rv={rv}"#);
        assert!(commits.contains(&commit(1, &first.to_string())), "{commits:?}");
        assert!(commits.contains(&commit(1, &last.to_string())), "{commits:?}");
        let call = |rv: &str| format!(r#"handler="copies" resource="configmaps" key=default/a rv={rv}"#);
        let expected = [call(&of_object.unwrap()), call(&last.to_string())];
        assert_eq!(spans.of("handler"), expected);
    }
}
