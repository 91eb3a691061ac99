//! The scopes of an informer: added, removed, paused, and read from another source, while it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ScopeError;
use super::options::check_namespace;
use super::scope_task::{Assignment, Audit, Ended, Entry, Order, Worker};
use super::sources::SourceMaker;
use super::warm_files::WarmFiles;
use crate::audit::AuditOptions;
use crate::delta::{DeltaSender, Joined};
use crate::object::Object;
use crate::reflector::{Reflector, ReflectorConfig, RelistRequest, RequestBudget};
use crate::resource_version::ResourceVersion;
use crate::scope::{Revision, Scope};
use crate::selector::Selector;
use crate::source::{ListOptions, ListWatch};
use crate::status::{State, StatusBoard};
use crate::store::{ByteShare, Indexer};
use crate::sync::{Latch, Mutex, Offload};

/// The scopes of one informer, each with the task that lists and watches it.
pub(super) struct Scopes<K: Object> {
    parts: Parts<K>,
    state: Mutex<ScopesState<K>>,
    /// Every task of a scope.
    tasks: TaskTracker,
}

/// What every scope is made with.
pub(super) struct Parts<K> {
    pub(super) indexer: Indexer<K>,
    pub(super) board: Arc<StatusBoard>,
    pub(super) synced: Latch,
    pub(super) reflector: ReflectorConfig,
    pub(super) budget: Option<RequestBudget>,
    pub(super) share: Option<Arc<ByteShare>>,
    pub(super) audit: Option<AuditOptions>,
    pub(super) offload: Offload,
    pub(super) warm: Option<Arc<WarmFiles<K>>>,
    pub(super) token: CancellationToken,
}

struct ScopesState<K: Object> {
    members: BTreeMap<Scope, Member<K>>,
    /// Removed scopes whose tasks have not ended yet.
    leaving: BTreeMap<Scope, Latch>,
    /// The newest version that a removed scope had. A scope that is added later, which may be the same one,
    /// starts with nothing older.
    newest_removed: Option<ResourceVersion>,
    /// The last change of scopes or selectors.
    revision: Revision,
    activity: Activity,
    /// The label selector of every request. That of a custom source is unknown.
    selector: Selector,
    /// Makes the sources; `None` if they are custom ones.
    maker: Option<SourceMaker<K>>,
    stage: Stage<K>,
}

enum Stage<K: Object> {
    /// Not started: the tasks wait here.
    Created {
        root: DeltaSender<K>,
        waiting: Vec<Worker<K>>,
    },
    /// Started. Senders of further scopes are made from `root`.
    Running {
        root: DeltaSender<K>,
        runtime: Handle,
    },
    Stopped,
}

/// Whether the informer follows the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Running,
    Paused,
}

struct Member<K> {
    assignment: Assignment<K>,
    orders: watch::Sender<Order<K>>,
    /// Set when its task has ended.
    ended: Latch,
}

impl<K> Member<K> {
    fn order(&self, activity: Activity) -> Order<K> {
        order(&self.assignment, activity)
    }
}

fn order<K>(assignment: &Assignment<K>, activity: Activity) -> Order<K> {
    match activity {
        Activity::Running => Order::Run(assignment.clone()),
        Activity::Paused => Order::Pause,
    }
}

impl<K: Object> Scopes<K> {
    /// `root` is a sender of any scope: it keeps the queue open, and senders of new scopes are made from it.
    pub(super) fn new(
        parts: Parts<K>,
        root: DeltaSender<K>,
        sources: Vec<(Arc<dyn ListWatch<K>>, DeltaSender<K>)>,
        maker: Option<SourceMaker<K>>,
        selector: Selector,
    ) -> Self {
        let mut members = BTreeMap::new();
        let mut waiting = Vec::new();
        let revision = Revision::default();
        for (source, queue) in sources {
            let scope = queue.scope().clone();
            let assignment = Assignment { source, revision };
            let entry = Entry::Built;
            let (member, worker) = parts.member(assignment, queue, Activity::Running, entry);
            members.insert(scope, member);
            waiting.push(worker);
        }
        Self {
            parts,
            state: Mutex::new(ScopesState {
                members,
                leaving: BTreeMap::new(),
                newest_removed: None,
                revision,
                activity: Activity::Running,
                selector,
                maker,
                stage: Stage::Created { root, waiting },
            }),
            tasks: TaskTracker::new(),
        }
    }

    /// Starts every scope. Returns a sender for resyncs.
    pub(super) fn start(&self, runtime: &Handle) -> Option<DeltaSender<K>> {
        let mut state = self.state.lock();
        let Stage::Created { root, waiting } = std::mem::replace(&mut state.stage, Stage::Stopped) else {
            return None;
        };
        for worker in waiting {
            self.spawn(worker, runtime);
        }
        let resync = root.clone();
        state.stage = Stage::Running {
            root,
            runtime: runtime.clone(),
        };
        Some(resync)
    }

    /// Waits until every task has ended. They end when the informer's token is cancelled.
    pub(super) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Drops what keeps the queue open, apart from the senders of the tasks, and the sources with their
    /// client.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        let stage = std::mem::replace(&mut state.stage, Stage::Stopped);
        let (members, maker) = (std::mem::take(&mut state.members), state.maker.take());
        drop(state);
        drop((stage, members, maker));
    }

    fn spawn(&self, worker: Worker<K>, runtime: &Handle) {
        let token = self.parts.token.clone();
        let tasks = self.tasks.clone();
        self.tasks.spawn_on(
            async move {
                token.run_until_cancelled(worker.run(token.clone(), tasks)).await;
            },
            runtime,
        );
    }

    /// Stops all requests.
    pub(super) fn pause(&self) {
        self.set_activity(Activity::Paused);
    }

    /// Continues after a pause.
    pub(super) fn resume(&self) {
        self.set_activity(Activity::Running);
    }

    fn set_activity(&self, activity: Activity) {
        let mut state = self.state.lock();
        if state.activity == activity {
            return;
        }
        state.activity = activity;
        for member in state.members.values() {
            member.orders.send_replace(member.order(activity));
        }
    }

    /// Adds a namespace. Does nothing if it is covered.
    pub(super) fn add(&self, namespace: &str) -> Result<(), ScopeError> {
        check_namespace(namespace)?;
        let scope = Scope::of(Some(namespace));
        let mut state = self.state.lock();
        let root = state.root(self.parts.board.resource())?;
        if state.members.contains_key(&scope) {
            return Ok(());
        }
        let maker = state.maker.as_ref().ok_or(ScopeError::CustomSource)?;
        let source = maker.make(&scope)?;
        let (queue, joined) = root.of_scope(scope.clone());
        let revision = state.next_revision();
        let first_state = match &state.stage {
            Stage::Running { .. } => State::Listing {
                received: 0,
                expected: None,
            },
            Stage::Created { .. } | Stage::Stopped => State::NotStarted,
        };
        self.parts.board.add_scope(&scope, revision, first_state);
        let entry = Entry::Added {
            after: state.leaving.remove(&scope),
            newest_removed: state.newest_removed.clone(),
            joined,
        };
        let assignment = Assignment { source, revision };
        let (member, worker) = self.parts.member(assignment, queue, state.activity, entry);
        state.members.insert(scope, member);
        match &mut state.stage {
            Stage::Created { waiting, .. } => waiting.push(worker),
            Stage::Running { runtime, .. } => self.spawn(worker, runtime),
            Stage::Stopped => {}
        }
        Ok(())
    }

    /// Removes a namespace and its objects. Does nothing if it is not covered.
    pub(super) fn remove(&self, namespace: &str) -> Result<(), ScopeError> {
        let scope = Scope::of(Some(namespace));
        let mut state = self.state.lock();
        state.root(self.parts.board.resource())?;
        if state.maker.is_none() {
            return Err(ScopeError::CustomSource);
        }
        let Some(member) = state.members.remove(&scope) else {
            return Ok(());
        };
        let revision = state.next_revision();
        member.orders.send_replace(Order::Leave(revision));
        state.leaving.retain(|_, ended| !ended.is_set());
        state.leaving.insert(scope.clone(), member.ended);
        if let Some(version) = self.parts.board.remove_scope(&scope)
            && (state.newest_removed.as_ref()).is_none_or(|newest| !version.is_older_than(newest))
        {
            state.newest_removed = Some(version);
        }
        if let Some(warm) = &self.parts.warm {
            warm.remove(&scope);
        }
        Ok(())
    }

    /// Changes the selectors and other parameters of every request, and reads the whole state again.
    pub(super) fn change_list_options(
        &self,
        edit: impl FnOnce(ListOptions) -> ListOptions,
    ) -> Result<(), ScopeError> {
        let before = self.state.lock().maker()?.list_options().clone();
        // User code, without the lock.
        let after = edit(before.clone());
        let mut state = self.state.lock();
        let changed = state.maker()?.with_list_options(after.clone())?;
        let selector = changed.selector()?;
        if after == before {
            return Ok(());
        }
        let mut sources = Vec::new();
        for scope in state.members.keys() {
            sources.push(changed.make(scope)?);
        }
        state.maker = Some(changed);
        state.selector = selector;
        // Before any state of the new selectors can be committed.
        if let Some(warm) = &self.parts.warm {
            warm.close();
        }
        let (revision, activity) = (state.next_revision(), state.activity);
        self.parts.board.reselected(revision);
        for (member, source) in state.members.values_mut().zip(sources) {
            member.assignment = Assignment { source, revision };
            member.orders.send_replace(member.order(activity));
        }
        Ok(())
    }

    pub(super) fn selector(&self) -> Selector {
        self.state.lock().selector.clone()
    }

    /// The selectors and other parameters of every request. Those of a custom source are unknown.
    pub(super) fn list_options(&self) -> ListOptions {
        let state = self.state.lock();
        let maker = state.maker.as_ref();
        maker.map_or_else(ListOptions::default, |maker| maker.list_options().clone())
    }
}

impl<K: Object> ScopesState<K> {
    fn next_revision(&mut self) -> Revision {
        self.revision = self.revision.next();
        self.revision
    }

    fn maker(&self) -> Result<&SourceMaker<K>, ScopeError> {
        match (&self.stage, &self.maker) {
            (Stage::Stopped, _) => Err(ScopeError::Stopped),
            (_, None) => Err(ScopeError::CustomSource),
            (_, Some(maker)) => Ok(maker),
        }
    }

    /// The sender from which others are made, if the informer covers single namespaces.
    fn root(&self, resource: &str) -> Result<&DeltaSender<K>, ScopeError> {
        let root = match &self.stage {
            Stage::Created { root, .. } | Stage::Running { root, .. } => root,
            Stage::Stopped => return Err(ScopeError::Stopped),
        };
        match self.members.contains_key(&Scope::All) {
            true => Err(ScopeError::AllNamespaces(resource.to_owned())),
            false => Ok(root),
        }
    }
}

impl<K: Object> Parts<K> {
    /// Makes a scope and its task.
    fn member(
        &self,
        assignment: Assignment<K>,
        mut queue: DeltaSender<K>,
        activity: Activity,
        entry: Entry,
    ) -> (Member<K>, Worker<K>) {
        let scope = queue.scope().clone();
        let source = assignment.source.clone();
        let reporter = self.board.reporter(&scope);
        queue.report_to(reporter.clone());
        queue.replaces(self.indexer.clone());
        let relist = match &self.audit {
            Some(_) => RelistRequest::enabled(),
            None => RelistRequest::Disabled,
        };
        let audit = self.audit.clone().map(|options| Audit {
            options,
            indexer: self.indexer.clone(),
            reporter: reporter.clone(),
            relist: relist.clone(),
            offload: self.offload,
            seed: self.reflector.seed,
            synced: self.synced.clone(),
        });
        if let Some(audit) = &audit {
            // The status shows from the start that audits are on; the one that runs is made with its source.
            drop(audit.of(&source));
        }
        let mut reflector = Reflector::new(source, queue, self.reflector.clone(), reporter, relist);
        reflector.count_in(self.share.clone());
        // The source of awaited namespaces never answers, and would keep its turn for ever.
        if !scope.is_awaited() {
            reflector.share(self.budget.clone());
            let file = self.warm.as_ref().and_then(|warm| warm.add(&scope));
            match (&entry, file) {
                // Handlers have not seen anything newer.
                (
                    Entry::Built
                    | Entry::Added {
                        newest_removed: None,
                        joined: Joined::BeforeSync,
                        ..
                    },
                    Some(file),
                ) => reflector.seed_from(file),
                (
                    Entry::Added {
                        newest_removed: Some(version),
                        ..
                    },
                    _,
                ) => reflector.not_older_than(version.clone()),
                _ => {}
            }
        }
        let (orders, received) = watch::channel(order(&assignment, activity));
        let ended = Latch::new();
        let worker = Worker {
            reflector,
            audit,
            orders: received,
            revision: assignment.revision,
            entry,
            ended: Ended(ended.clone()),
        };
        let member = Member {
            assignment,
            orders,
            ended,
        };
        (member, worker)
    }
}
