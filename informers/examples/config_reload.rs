//! Settings that follow a ConfigMap; bad ones are rejected: `cargo run --example config_reload -- --help`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::str::FromStr;

use informer_testing::demo::{self, Demo, Program, Script};
use informers::{Event, SharedInformerFactory, client};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;

/// The name of the ConfigMap.
const NAME: &str = "shop-settings";

#[tokio::main]
async fn main() -> ExitCode {
    let about = "Follows the ConfigMap `shop-settings` of the namespace `shop`, or of the one given.";
    Program::new(about)
        .script(Script::settings())
        .run(follow_settings)
        .await
}

async fn follow_settings(demo: &mut Demo) -> demo::Result {
    let namespace = match demo.namespaces() {
        None => "shop".to_owned(),
        Some([one]) => one.clone(),
        Some(_) => return Err("the settings are in one namespace: write --namespace once".into()),
    };
    // The cluster of your kubeconfig, or an embedded server on which something happens.
    let client = demo.connect(client::try_default()).await?;
    let factory = SharedInformerFactory::builder(client)
        // The server sends this one object, and the cache holds nothing else.
        .kind::<ConfigMap>(|maps| maps.namespace(namespace).fields(format!("metadata.name={NAME}")))
        .build()?;

    // Each user of the settings holds a receiver, which has the newest good ones.
    let (sender, mut settings) = watch::channel(Loaded::default());
    let maps = factory.core().v1().config_maps().informer();
    maps.add_handler(move |event: Event<ConfigMap>| {
        sender.send_modify(|loaded| match &event {
            Event::Deleted(_) => loaded.problem = Some("the ConfigMap was deleted".to_owned()),
            _ => loaded.load(event.object()),
        });
    })?;

    factory.start();
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    loop {
        // Formatted at once: while the value is borrowed, the handler cannot write a new one.
        let line = settings.borrow_and_update().describe();
        demo.line(line);
        match demo.or_end(settings.changed()).await {
            Some(changed) => changed?,
            None => break,
        }
    }
    factory.shutdown().await;
    Ok(())
}

#[derive(Debug)]
struct Settings {
    greeting: String,
    workers: u16,
    timeout_seconds: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            greeting: "hello".to_owned(),
            workers: 1,
            timeout_seconds: 30,
        }
    }
}

impl Settings {
    /// Reads the settings. A missing key has its default; one that is unknown or cannot be read is an error.
    /// The error names keys only, because values may be secret.
    fn parse(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut settings = Self::default();
        for (key, value) in data {
            match key.as_str() {
                "greeting" => settings.greeting = value.clone(),
                "workers" => settings.workers = number(key, value, 64)?,
                "timeout-seconds" => settings.timeout_seconds = number(key, value, 3600)?,
                _ => return Err(format!("{key:?} is not a setting")),
            }
        }
        Ok(settings)
    }
}

fn number(key: &str, value: &str, most: u16) -> Result<u16, String> {
    let number = u16::from_str(value.trim()).ok();
    let number = number.filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{key:?} is not a whole number from 1 to {most}"))
}

/// The last good settings, and why later ones were rejected.
#[derive(Debug, Default)]
struct Loaded {
    settings: Settings,
    /// The version the settings are from; `None` for the defaults.
    version: Option<String>,
    problem: Option<String>,
}

impl Loaded {
    /// Takes the settings of a new version, if they are good.
    fn load(&mut self, map: &ConfigMap) {
        match Settings::parse(map.data.as_ref().unwrap_or(&BTreeMap::new())) {
            Ok(settings) => {
                *self = Self {
                    settings,
                    version: map.metadata.resource_version.clone(),
                    problem: None,
                };
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    fn describe(&self) -> String {
        let Settings {
            greeting,
            workers,
            timeout_seconds,
        } = &self.settings;
        let state = match &self.problem {
            None => "settings".to_owned(),
            Some(problem) => format!("kept, because {problem}"),
        };
        let version = match &self.version {
            None => "the defaults".to_owned(),
            Some(version) => format!("version {version}"),
        };
        format!("{state}, {version}: {greeting:?}, {workers} workers, timeout {timeout_seconds}s")
    }
}
