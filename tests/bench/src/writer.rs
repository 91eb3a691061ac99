//! Changes of objects, made by another process, so that its work does not count and is the same for every
//! library.

use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::{Result, replay, server};

/// How many requests change Pods at a time.
const REQUESTS: usize = 16;

/// The pause between two changes whose way to a handler is timed.
const PAUSE: Duration = Duration::from_millis(5);

/// The objects that are touched in turn.
pub(crate) const OBJECTS: usize = 100;

/// The field that has the number of the last touch.
pub(crate) const NUMBER: &str = "number";

/// When a change was requested and answered, in nanoseconds since 1970.
#[derive(Clone, Copy)]
pub(crate) struct Touched {
    pub(crate) requested: u64,
    pub(crate) answered: u64,
}

/// Nanoseconds since 1970: the same clock in every process.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Changes a label of Pods in `--namespace` in turn, `--updates` times. `--run` makes the values new.
pub(crate) async fn update_pods(options: &Arguments) -> Result<()> {
    let (namespace, updates): (String, usize) = (options.get("namespace")?, options.get("updates")?);
    let run: String = options.get("run")?;
    let client = server::client(Library::Informers).await?;
    let api = Api::<Pod>::namespaced(client, &namespace);
    let names = api
        .list_metadata(&ListParams::default().limit(u32::try_from(updates)?))
        .await?;
    let names: Vec<String> = names
        .items
        .into_iter()
        .filter_map(|pod| pod.metadata.name)
        .collect();
    let (api, names, run) = (&api, &names, &run);
    stream::iter(0..updates)
        .map(|number| async move {
            let patch = json!({"metadata": {"labels": {"changed": format!("{run}-{number}")}}});
            let name = &names[number % names.len()];
            api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(patch))
                .await?;
            Ok(())
        })
        .buffer_unordered(REQUESTS)
        .try_for_each(async |()| Ok(()))
        .await
}

/// Updates the ConfigMaps of `--namespace` in turn, `--updates` times, and prints at the end a line for each:
/// when it was requested and answered. A line after each update would wake the measured process.
pub(crate) async fn touch(options: &Arguments) -> Result<()> {
    let (namespace, updates): (String, usize) = (options.get("namespace")?, options.get("updates")?);
    let client = server::client(Library::Informers).await?;
    let api = Api::<ConfigMap>::namespaced(client, &namespace);
    let mut config_maps = api.list(&ListParams::default()).await?.items;
    config_maps.retain(|config_map| config_map.metadata.name.as_deref() != Some("kube-root-ca.crt"));
    let mut touched = Vec::with_capacity(updates);
    for update in 1..=updates {
        tokio::time::sleep(PAUSE).await;
        let place = update % config_maps.len();
        let config_map = &mut config_maps[place];
        let data = config_map.data.get_or_insert_default();
        data.insert(NUMBER.to_owned(), update.to_string());
        let name = config_map.metadata.name.clone().unwrap_or_default();
        let requested = now();
        *config_map = api.replace(&name, &PostParams::default(), config_map).await?;
        touched.push((requested, now()));
    }
    for (requested, answered) in touched {
        println!("{requested} {answered}");
    }
    Ok(())
}

/// Has Pods changed: by the replay server, if there is one, else by another process.
pub(crate) async fn change_pods(options: &Arguments, updates: usize) -> Result<()> {
    if std::env::var_os("BENCH_REPLAY").is_some() {
        return replay::command(&format!("/replay/change/{updates}")).await;
    }
    let run = std::process::id().to_string();
    run_writer("update", options, updates, &["--run", &run]).await?;
    Ok(())
}

/// Has ConfigMaps touched by another process. Returns the times in order.
pub(crate) async fn touch_config_maps(options: &Arguments, updates: usize) -> Result<Vec<Touched>> {
    let output = run_writer("touch", options, updates, &[]).await?;
    let line = |line: &str| {
        let (requested, answered) = line.split_once(' ')?;
        Some(Touched {
            requested: requested.parse().ok()?,
            answered: answered.parse().ok()?,
        })
    };
    let times: Option<Vec<_>> = output.lines().map(line).collect();
    times.ok_or_else(|| "the writer printed something else than times".into())
}

async fn run_writer(what: &str, options: &Arguments, updates: usize, more: &[&str]) -> Result<String> {
    let (namespace, updates): (String, _) = (options.get("namespace")?, updates.to_string());
    let output = tokio::process::Command::new(std::env::var("BENCH_WRITER")?)
        .args(["server", what, "--namespace", &namespace, "--updates", &updates])
        .args(more)
        .stderr(Stdio::inherit())
        .output()
        .await?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err("the writer failed".into()),
    }
}
