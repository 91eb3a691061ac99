//! Row `latency`: from a change on the server to the start of its reconcile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::mpsc;

use crate::arguments::Arguments;
use crate::controllers::{self, Library};
use crate::{Figures, Result, quantile, server};

/// The objects that are updated in turn.
const OBJECTS: usize = 100;

/// The field that has the number of the last update.
const NUMBER: &str = "number";

/// Updates ConfigMaps of a new `--namespace` one after the other, `--updates` times; each update waits for
/// the reconcile of the one before. The times run from before the request, and from its answer. A reconcile
/// can begin before the answer is read: that time is negative.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (namespace, updates): (String, usize) = (options.get("namespace")?, options.get("updates")?);
    let client = server::client(library).await?;
    server::create_namespace(&client, &namespace).await?;
    let api = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    let mut config_maps = Vec::new();
    for number in 0..OBJECTS {
        config_maps.push(server::create(&api, format!("object-{number:05}")).await?);
    }
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let started = move |config_map: &ConfigMap| {
        let now = Instant::now();
        let _ = sender.send((number_of(config_map), now));
    };
    controllers::run(library, client, &namespace, Arc::new(started), Duration::ZERO)?;
    for _ in 0..OBJECTS {
        receiver.recv().await.ok_or("the controller ended")?;
    }
    let (mut from_request, mut from_answer) = (Vec::new(), Vec::new());
    for update in 1..=updates {
        let config_map = &mut config_maps[update % OBJECTS];
        let data = config_map.data.get_or_insert_default();
        data.insert(NUMBER.to_owned(), update.to_string());
        let name = config_map.metadata.name.clone().unwrap_or_default();
        let requested = Instant::now();
        *config_map = api.replace(&name, &PostParams::default(), config_map).await?;
        let answered = Instant::now();
        let started = loop {
            match receiver.recv().await.ok_or("the controller ended")? {
                (number, started) if number == update => break started,
                _ => {}
            }
        };
        from_request.push(microseconds(requested, started));
        from_answer.push(microseconds(answered, started));
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

/// Negative if `to` is earlier.
fn microseconds(from: Instant, to: Instant) -> f64 {
    let later = to.saturating_duration_since(from);
    let earlier = from.saturating_duration_since(to);
    (later.as_secs_f64() - earlier.as_secs_f64()) * 1e6
}
