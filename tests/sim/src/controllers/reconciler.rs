//! The reconciler: makes the children of a parent equal to what the parent and the settings want.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use informer_core::controller::{Action, Request};
use informer_core::{ObjectKey, simulation};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams, Preconditions};
use rand::RngExt as _;
use rand::rngs::SmallRng;

use super::judge::{Court, Last, Written};
use super::objects;
use super::plan::{Mood, Notice};
use super::process::{Caches, Process};

/// How soon a parent is reconciled again if the controller does not watch everything it depends on.
const REQUEUE: Duration = Duration::from_secs(20);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How the reconciles of all replicas behave.
#[derive(Clone)]
pub(super) struct Behaviour(Arc<Mutex<(SmallRng, Mood)>>);

/// What one reconcile does apart from its work.
#[derive(Clone, Copy)]
enum Whim {
    None,
    /// After its first write, or at its end.
    Fail,
    Panic,
}

impl Behaviour {
    pub(super) fn new(random: SmallRng) -> Self {
        Self(Arc::new(Mutex::new((random, Mood::default()))))
    }

    pub(super) fn set(&self, mood: Mood) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = mood;
    }

    fn draw(&self) -> (Duration, Whim) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (random, mood) = &mut *held;
        let slow = Duration::from_millis(random.random_range(0..=mood.slow));
        let whim = match random.random_range(0..100) {
            draw if draw < mood.errors => Whim::Fail,
            draw if draw < mood.errors + mood.panics => Whim::Panic,
            _ => Whim::None,
        };
        (slow, whim)
    }
}

/// What the reconciles of one process share.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) court: Court,
    pub(super) process: Arc<Process>,
    pub(super) caches: Caches,
    pub(super) api: Api<ConfigMap>,
    pub(super) behaviour: Behaviour,
}

/// Runs from the start of a reconcile to its end or drop.
struct Running<'a> {
    process: &'a Process,
    key: ObjectKey,
    last: Last,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.process.ended(&self.key, self.last);
    }
}

/// Reconciles a key, under the eyes of the judge. It stops while the process is frozen.
pub(super) async fn reconcile(context: Context, request: Request<ConfigMap>) -> Result<Action, Failure> {
    let (court, process) = (&context.court, &*context.process);
    process.called(request.key());
    process.thawed().await;
    court.started(process, &context.caches, request.key());
    let mut running = Running {
        process,
        key: request.key().clone(),
        last: Last::Dropped,
    };
    let result = {
        let mut work = pin!(work(&context, &request));
        std::future::poll_fn(|cx| {
            if process.is_frozen() {
                process.wake_later(cx.waker());
                return Poll::Pending;
            }
            court.check_may_work(process, request.key());
            work.as_mut().poll(cx)
        })
        .await
    };
    running.last = match &result {
        Ok(action) if *action == Action::await_change() => Last::Done,
        Ok(_) => Last::Requeued,
        Err(_) => Last::Failed,
    };
    result
}

async fn work(context: &Context, request: &Request<ConfigMap>) -> Result<Action, Failure> {
    let (slow, whim) = context.behaviour.draw();
    simulation::yield_point().await;
    let caches = &context.caches;
    let parent = request.object();
    let settings = caches.settings.indexer().list();
    let wanted = match &parent {
        Some(parent) => objects::desired(parent, settings.iter().map(|setting| &**setting)),
        None => Default::default(),
    };
    let children = caches.children.indexer().list();
    let owned = children
        .iter()
        .filter(|child| objects::text(child, "parent") == request.key().name());
    if !slow.is_zero() {
        tokio::time::sleep(slow).await;
    }
    let uid = parent.as_ref().map_or("", |parent| objects::uid(parent));
    let mut present = Vec::new();
    for child in owned {
        match wanted.get(objects::name(child)) {
            Some(value) if objects::owner(child) == uid => {
                present.push(objects::name(child));
                if objects::number(child, "value") != *value {
                    let mut changed = (**child).clone();
                    changed
                        .data
                        .get_or_insert_default()
                        .insert("value".to_owned(), value.to_string());
                    let params = PostParams::default();
                    let written = context
                        .api
                        .replace(objects::name(child), &params, &changed)
                        .await?;
                    note_write(context, request, &written, whim)?;
                }
            }
            _ => delete(context, request, child, whim).await?,
        }
    }
    for (name, value) in &wanted {
        if let Some(parent) = &parent
            && !present.contains(&name.as_str())
        {
            let child = objects::child(parent, name.clone(), *value);
            let written = context.api.create(&PostParams::default(), &child).await?;
            note_write(context, request, &written, whim)?;
        }
    }
    whim.strike()?;
    let options = context.process.options;
    Ok(
        match [options.children, options.settings].contains(&Notice::Requeue) {
            true => Action::requeue(REQUEUE),
            false => Action::await_change(),
        },
    )
}

fn note_write(
    context: &Context,
    request: &Request<ConfigMap>,
    written: &ConfigMap,
    whim: Whim,
) -> Result<(), Failure> {
    request.wrote(&context.caches.children, written);
    let (key, version) = (objects::key(objects::name(written)), objects::version(written));
    context
        .process
        .wrote(request.key(), Written::Object { key, version });
    whim.strike()
}

async fn delete(
    context: &Context,
    request: &Request<ConfigMap>,
    child: &ConfigMap,
    whim: Whim,
) -> Result<(), Failure> {
    let (key, uid) = (objects::key(objects::name(child)), objects::uid(child).to_owned());
    let only_this = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.clone()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match context.api.delete(objects::name(child), &only_this).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    request.deleted(&context.caches.children, &key, &uid);
    context
        .process
        .wrote(request.key(), Written::Deletion { key, uid });
    whim.strike()
}

impl Whim {
    fn strike(self) -> Result<(), Failure> {
        match self {
            Self::None => Ok(()),
            Self::Fail => Err("this reconcile fails on purpose".into()),
            Self::Panic => panic!("this reconcile panics on purpose"),
        }
    }
}
