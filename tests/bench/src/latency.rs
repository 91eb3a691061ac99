//! Row `latency`: from a change on the server to the start of its reconcile, or to the call of a handler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use tokio::sync::mpsc;

use crate::arguments::Arguments;
use crate::controllers::{self, Library};
use crate::writer::{self, NUMBER, OBJECTS};
use crate::{Figures, Result, quantile, server, sync};

/// Another process updates the ConfigMaps of a new `--namespace` one after the other, `--updates` times. The
/// times run from before each request, and from its answer, to the start of its reconcile (`--to
/// reconcile`) or to the call of a handler (`--to handler`). Either can happen before the answer is read:
/// that time is negative.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (namespace, updates): (String, usize) = (options.get("namespace")?, options.get("updates")?);
    let client = server::client(library).await?;
    server::create_namespace(&client, &namespace).await?;
    let api = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    for number in 0..OBJECTS {
        server::create(&api, format!("object-{number:05}")).await?;
    }
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let seen: controllers::Started = Arc::new(move |config_map: &ConfigMap| {
        let _ = sender.send((number_of(config_map), writer::now()));
    });
    // Keeps the cache.
    let _cache: Option<sync::Cache> = match options.get::<String>("to")?.as_str() {
        "reconcile" => {
            controllers::run(library, client, &namespace, seen, Duration::ZERO)?;
            None
        }
        "handler" => Some(sync::run_handler(library, client, &namespace, seen).await?),
        other => return Err(format!("unknown end \"{other}\"").into()),
    };
    for _ in 0..OBJECTS {
        receiver.recv().await.ok_or("the library ended")?;
    }
    let touched = writer::touch_config_maps(options, updates).await?;
    let mut first_seen = BTreeMap::new();
    while !first_seen.contains_key(&updates) {
        let (number, time) = receiver.recv().await.ok_or("the library ended")?;
        first_seen.entry(number).or_insert(time);
    }
    let (mut from_request, mut from_answer) = (Vec::new(), Vec::new());
    for (place, touched) in touched.iter().enumerate() {
        let seen = *first_seen.get(&(place + 1)).ok_or("a change was not seen")?;
        from_request.push(microseconds(touched.requested, seen));
        from_answer.push(microseconds(touched.answered, seen));
    }
    Ok(vec![
        ("from_request_median", quantile(&mut from_request, 0.5)),
        ("from_request_p99", quantile(&mut from_request, 0.99)),
        ("from_answer_median", quantile(&mut from_answer, 0.5)),
        ("from_answer_p99", quantile(&mut from_answer, 0.99)),
    ])
}

fn number_of(config_map: &ConfigMap) -> usize {
    let number = config_map.data.as_ref().and_then(|data| data.get(NUMBER));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The time between two readings of the clock, negative if `to` is earlier.
fn microseconds(from: u64, to: u64) -> f64 {
    (to as f64 - from as f64) / 1e3
}
