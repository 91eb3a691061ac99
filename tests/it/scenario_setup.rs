//! The setup of a scenario: an informer over one scripted server per scope, and the handlers that listen to
//! it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures::{FutureExt, StreamExt};
use informer_core::source::{ListEvent, ListWatch, WatchEvent};
use informer_core::store::Index;
use informer_core::{
    Event, EventStream, HandlerOptions, InitialState, Offload, Registration, Scope, SharedInformer, State,
};
use k8s_openapi::api::core::v1::Pod;

use super::scenario_script::{Action, Failure, HandlerKind, Question, Settings, TransformKind};
use super::scripted::{Body, Call, Server, config, describe, scripted, settle, short, show};

pub(crate) struct Setup {
    informer: SharedInformer<Pod>,
    servers: Vec<Scoped>,
    listeners: BTreeMap<String, EventStream<Pod>>,
    panicking: BTreeMap<String, Registration>,
    indexes: BTreeMap<String, Index<Pod, String>>,
}

/// The server of one scope.
struct Scoped {
    namespace: Option<String>,
    server: Server,
    /// Requests that were seen and not answered yet.
    pending: VecDeque<Call>,
    watch: Option<Body<WatchEvent<Pod>>>,
    /// The number of requests that `requests` has shown.
    shown: usize,
}

impl Setup {
    /// Makes and starts the informer, with one handler called `main`.
    pub(crate) fn open(settings: &Settings) -> Self {
        let namespaces: Vec<Option<String>> = match settings.namespaces.as_slice() {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        let mut sources: Vec<Arc<dyn ListWatch<Pod>>> = Vec::new();
        let mut servers = Vec::new();
        for namespace in namespaces {
            let (mut source, server) = scripted();
            if let Some(namespace) = &namespace {
                source = source.in_namespace(namespace);
            }
            sources.push(Arc::new(source));
            servers.push(Scoped {
                namespace,
                server,
                pending: VecDeque::new(),
                watch: None,
                shown: 0,
            });
        }
        let mut config = config(if settings.watch_list {
            InitialState::WatchList
        } else {
            InitialState::List
        });
        config.page_size = settings.page_size;
        let mut builder = SharedInformer::builder_from_sources(sources)
            .reflector(|_| config)
            .offload(Offload::Inline);
        if let Some(period) = settings.resync {
            builder = builder.resync(period);
        }
        let transform = settings.transform;
        if transform != TransformKind::None {
            builder = builder.try_transform(move |pod| run_transform(transform, pod));
        }
        let informer = builder.build().expect("the settings of a scenario are valid");
        let listeners = BTreeMap::from([("main".to_owned(), informer.events())]);
        informer.start().expect("a scenario has a runtime");
        Self {
            informer,
            servers,
            listeners,
            panicking: BTreeMap::new(),
            indexes: BTreeMap::new(),
        }
    }

    fn server(&mut self, scope: Option<&str>) -> Result<&mut Scoped, String> {
        match scope {
            None if self.servers.len() > 1 => Err("say which namespace: `web: list ..`".to_owned()),
            None => Ok(&mut self.servers[0]),
            Some(scope) => (self.servers.iter_mut())
                .find(|server| server.namespace.as_deref() == Some(scope))
                .ok_or_else(|| format!("the informer does not cover `{scope}`")),
        }
    }

    pub(crate) async fn act(&mut self, scope: Option<&str>, action: Action<'_>) -> Result<(), String> {
        match action {
            Action::List(metadata, items) => {
                let page = match self.server(scope)?.next().await? {
                    Call::List(call) => call.open(),
                    other => return Err(format!("the informer asks for `{other}`, not for a list")),
                };
                page.send(Ok(ListEvent::Metadata(metadata)));
                items.into_iter().for_each(|item| page.send(Ok(item)));
            }
            Action::ListFails(failure) => match (self.server(scope)?.next().await?, failure) {
                (Call::List(call), Failure::Error(error)) => call.fail(error),
                (Call::List(call), Failure::Panic) => call.panic(),
                (other, _) => return Err(format!("the informer asks for `{other}`, not for a list")),
            },
            Action::Watch(events) => {
                let watch = self.server(scope)?.watch().await?;
                events.into_iter().for_each(|event| watch.send(Ok(event)));
            }
            Action::WatchFails(failure) => match (self.server(scope)?.next().await?, failure) {
                (Call::Watch(call), Failure::Error(error)) => call.fail(error),
                (Call::Watch(call), Failure::Panic) => call.panic(),
                (other, _) => return Err(format!("the informer requested `{other}`, not a watch")),
            },
            Action::WatchEnds(error) => {
                let server = self.server(scope)?;
                server.watch().await?;
                if let (Some(watch), Some(error)) = (server.watch.take(), error) {
                    watch.fail(error);
                }
            }
            Action::Handler(name, kind) => self.add_handler(name, kind)?,
            Action::Remove(name) => {
                let listener = self.listeners.remove(name);
                listener.ok_or_else(|| format!("there is no handler `{name}`"))?;
            }
            Action::Index(label) => {
                let index = self
                    .informer
                    .add_label_index(label)
                    .map_err(|error| error.to_string())?;
                self.indexes.insert(label.to_owned(), index);
            }
            Action::Wait(time) => tokio::time::sleep(time).await,
            Action::Stop => self.informer.shutdown().await,
        }
        Ok(())
    }

    fn add_handler(&mut self, name: &str, kind: HandlerKind) -> Result<(), String> {
        let options = HandlerOptions::default().name(name).run_on(Offload::Inline);
        match kind {
            HandlerKind::Stream { buffer, resync } => {
                let mut options = options;
                if let Some(buffer) = buffer {
                    options = options.buffer(buffer);
                }
                if let Some(period) = resync {
                    options = options.resync(Some(period));
                }
                let events = self.informer.events_with(&options);
                self.listeners.insert(name.to_owned(), events);
            }
            HandlerKind::Panicking => {
                let handler = |_: Event<Pod>| panic!("the script says so");
                let registration = self.informer.add_handler_with(options, handler);
                let registration = registration.map_err(|error| error.to_string())?;
                self.panicking.insert(name.to_owned(), registration);
            }
        }
        Ok(())
    }

    pub(crate) async fn look(
        &mut self,
        scope: Option<&str>,
        question: Question<'_>,
    ) -> Result<String, String> {
        settle().await;
        Ok(match question {
            Question::Expect(handler) => {
                let listener = self.listeners.get_mut(handler);
                let listener = listener.ok_or_else(|| format!("there is no handler `{handler}`"))?;
                or_nothing(&drain(listener), ", ")
            }
            Question::Store => {
                let objects = self.informer.indexer().list();
                or_nothing(&objects.iter().map(|pod| show(pod)).collect::<Vec<_>>(), " ")
            }
            Question::Version => self.version(scope),
            Question::State => self.state(scope).to_owned(),
            Question::Synced => yes_or_no(self.informer.has_synced()),
            Question::Requests => self.server(scope)?.new_requests(),
            Question::Stale => {
                let stale = self.informer.status().stale;
                or_nothing(&stale.iter().map(|(key, _)| short(key)).collect::<Vec<_>>(), " ")
            }
            Question::Indexed(label) => {
                let index = self.indexes.get(label);
                self.indexed(index.ok_or_else(|| format!("there is no index `{label}`"))?)
            }
            Question::Reached(version) => {
                let version = version.into();
                let wait = self.informer.wait_until(&version).now_or_never();
                yes_or_no(matches!(wait, Some(Ok(()))))
            }
            Question::Count(what) => {
                let status = self.informer.status();
                let counts = status.scopes.iter().map(|scope| scope.counts);
                let count =
                    |one: fn(&informer_core::Counts) -> u64| counts.map(|counts| one(&counts)).sum::<u64>();
                match what {
                    "lists" => count(|counts| counts.lists),
                    "watches" => count(|counts| counts.watches),
                    "errors" => count(|counts| counts.errors),
                    "rewinds" => count(|counts| counts.rewinds),
                    "outdated" => count(|counts| counts.outdated),
                    "undecodable" => count(|counts| counts.undecodable),
                    "unreadable" => count(|counts| counts.unreadable),
                    other => return Err(format!("`{other}` is not counted")),
                }
                .to_string()
            }
            Question::Panics(handler) => {
                let registration = self.panicking.get(handler);
                let registration = registration.ok_or_else(|| format!("`{handler}` does not panic"))?;
                registration.status().panics.to_string()
            }
        })
    }

    fn version(&self, scope: Option<&str>) -> String {
        let status = self.informer.status();
        let version = match scope {
            None => self.informer.last_sync_resource_version(),
            Some(name) => status.versions.get(&Scope::of(Some(name))).cloned(),
        };
        version.map_or_else(|| "none".to_owned(), |version| version.to_string())
    }

    fn state(&self, scope: Option<&str>) -> &'static str {
        let status = self.informer.status();
        let state = match scope {
            None => Some(status.state),
            Some(name) => (status.scopes.into_iter())
                .find(|status| status.scope == Scope::of(Some(name)))
                .map(|status| status.state),
        };
        match state {
            Some(State::NotStarted) => "not-started",
            Some(State::Listing { .. }) => "listing",
            Some(State::Live) => "live",
            Some(State::Stalled) => "stalled",
            Some(State::BackingOff { .. }) => "backing-off",
            Some(State::Forbidden { .. }) => "forbidden",
            Some(State::NotFound { .. }) => "not-found",
            Some(State::Stopped) => "stopped",
            _ => "unknown",
        }
    }

    /// The values of an index, each with its objects.
    fn indexed(&self, index: &Index<Pod, String>) -> String {
        let values = index.values();
        let parts: Vec<String> = (values.iter())
            .map(|value| {
                let pods = index.get(value);
                let pods: Vec<String> = pods.iter().map(|pod| show(pod)).collect();
                format!("{value}: {}", pods.join(" "))
            })
            .collect();
        or_nothing(&parts, ", ")
    }

    /// Stops the informer, and fails on events that the script does not expect.
    pub(crate) async fn close(&mut self) -> Result<(), String> {
        settle().await;
        for (name, listener) in &mut self.listeners {
            let received = drain(listener);
            if !received.is_empty() {
                return Err(format!(
                    "the script ends, but `{name}` also received: {}",
                    received.join(", ")
                ));
            }
        }
        self.informer.shutdown().await;
        Ok(())
    }
}

impl Scoped {
    async fn next(&mut self) -> Result<Call, String> {
        if let Some(call) = self.pending.pop_front() {
            return Ok(call);
        }
        let call = self.server.next_or_none().await;
        call.ok_or_else(|| "the informer asks for nothing".to_owned())
    }

    /// The open watch, or the one being requested.
    async fn watch(&mut self) -> Result<&Body<WatchEvent<Pod>>, String> {
        settle().await;
        if self.watch.as_ref().is_some_and(|watch| !watch.is_read()) {
            self.watch = None;
        }
        if self.watch.is_none() {
            match self.next().await? {
                Call::Watch(call) => self.watch = Some(call.open()),
                other => return Err(format!("the informer requested `{other}`, not a watch")),
            }
        }
        self.watch
            .as_ref()
            .ok_or_else(|| "the watch has ended".to_owned())
    }

    fn new_requests(&mut self) -> String {
        while let Some(call) = self.server.waiting() {
            self.pending.push_back(call);
        }
        let new = or_nothing(&self.server.requests[self.shown..], ", ");
        self.shown = self.server.requests.len();
        new
    }
}

fn run_transform(kind: TransformKind, pod: &mut Pod) -> Result<(), String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    if kind == TransformKind::Choking && name.starts_with("poison") {
        return Err("it is poison".to_owned());
    }
    let labels = pod.metadata.labels.get_or_insert_default();
    let runs = labels.get("runs").and_then(|runs| runs.parse().ok()).unwrap_or(0);
    labels.insert("runs".to_owned(), (runs + 1_u32).to_string());
    Ok(())
}

fn drain(listener: &mut EventStream<Pod>) -> Vec<String> {
    let mut received = Vec::new();
    while let Some(Some(event)) = listener.next().now_or_never() {
        received.push(describe(&event));
    }
    received
}

fn or_nothing(parts: &[String], separator: &str) -> String {
    match parts {
        [] => "nothing".to_owned(),
        parts => parts.join(separator),
    }
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
