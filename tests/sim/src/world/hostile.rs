//! Scenarios of servers that break the protocol, or whose history goes back without a sign of it.

use std::time::Duration;

use informer_core::{Scope, SharedInformer, State, WatchListVerdict, simulation};
use informer_testing::{Fault, Rule, Verb, WatchList};
use k8s_openapi::api::core::v1::ConfigMap;

use super::World;
use super::scenarios::Seen;
use crate::history::State as ObjectState;
use crate::observer::object_key;
use crate::plan::{InvalidVersion, NAMESPACES};
use crate::wire;

/// How long lists never end, or carry no usable version.
const LASTING: Duration = Duration::from_secs(20 * 60);

/// How often the informers are checked meanwhile.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// The most pages in a minute of a list that brings nothing new: two a second, and a margin.
const PAGES_PER_MINUTE: u64 = 150;

/// The most requests in twenty minutes of an informer whose every list fails: a watch-list and a list per
/// attempt, the first attempts within seconds.
const REQUESTS: u64 = 150;

/// The time until an informer recovers after the server accepted no version that it knows: three refusals,
/// each after the longest backoff.
const RECOVERY: Duration = Duration::from_secs(900);

/// The time until a rewind is noticed without a refusal: two watches of ten minutes that bring nothing, each
/// with its margin, or five that are given up, and the backoffs.
const SILENT_REWIND: Duration = Duration::from_secs(60 * 60);

impl World<'_> {
    /// Lists never end. The rate of pages is bounded, the failure is reported, and nothing of such a list is
    /// used.
    pub(super) async fn endless_pages(&mut self) {
        let rule = self.strike(Rule::new(Fault::EndlessPages).on(Verb::List));
        let before = self.fail_lists().await;
        self.server.faults().remove(rule);
        let minutes = LASTING.as_secs() / 60;
        for ((number, _, before), (_, scope, after)) in before.iter().zip(self.seen()) {
            let pages = after.pages - before.pages;
            if pages > PAGES_PER_MINUTE * minutes {
                self.report(format!(
                    "informer {number} in {} requested {pages} pages in {minutes} minutes",
                    scope.scope
                ));
            }
        }
    }

    /// Versions that no server can read. They are refused, or given up after a few refused requests.
    pub(super) async fn invalid_version(&mut self, version: InvalidVersion) {
        let text = match version {
            InvalidVersion::Text => return self.foreign_version().await,
            InvalidVersion::Long => "1".repeat(100_000),
            InvalidVersion::Control => "7\u{1b}[31m".to_owned(),
        };
        let rule = self.strike(Rule::new(Fault::ReplaceVersion(text)));
        let before = self.fail_lists().await;
        self.server.faults().remove(rule);
        for ((number, before, _), (_, after, _)) in before.iter().zip(self.seen()) {
            if after.counts.lists > before.counts.lists {
                self.report(format!(
                    "informer {number} in {} accepted a version that no server can read",
                    after.scope
                ));
            }
        }
    }

    /// Makes every informer read the whole state, which fails for [`LASTING`]. Returns what was seen before.
    async fn fail_lists(&mut self) -> Vec<Seen> {
        let before = self.seen();
        self.force_lists();
        let mut waited = Duration::ZERO;
        while waited < LASTING && self.verdict.first().is_none() {
            self.advance(CHECK_EVERY).await;
            waited += CHECK_EVERY;
            self.touch();
            let _ = self.check();
        }
        for ((number, before, sent), (_, after, now)) in before.iter().zip(self.seen()) {
            let errors = after.counts.errors - before.counts.errors;
            let lists = after.counts.lists - before.counts.lists;
            let requests = now.requests - sent.requests;
            let only_lists =
                self.subjects[*number].only_lists() || self.plan.server.watch_list == WatchList::Off;
            // One that streams its initial state does not depend on lists.
            let is_hidden = lists == 0 && (errors == 0 || matches!(after.state, State::Live));
            if is_hidden || (only_lists && lists > 0) || requests > REQUESTS {
                self.report(format!(
                    "informer {number} in {}, whose lists fail for {waited:?}: {errors} errors, {lists} \
                     lists, {requests} requests, state {}",
                    after.scope, after.state
                ));
            }
        }
        before
    }

    /// A few answers carry a text as their version. The server refuses it from then on, and is healthy
    /// otherwise.
    async fn foreign_version(&mut self) {
        // An earlier fault may have led to lists already, such as a silent initial stream.
        let before = self.without_streams();
        self.doubted.store(true, std::sync::atomic::Ordering::Relaxed);
        for subject in &mut self.subjects {
            subject.rewinding();
        }
        let answers = (self.subjects.len() * NAMESPACES.len()) as u64;
        let fault = Fault::ReplaceVersion("not-a-version".to_owned());
        let rule = self.strike(Rule::new(fault).times(answers));
        self.force_lists();
        // Requests that are struck must be over before the recovery is judged.
        self.advance(CHECK_EVERY).await;
        self.server.faults().remove(rule);
        let revision = self.server.revision();
        let mut waited = Duration::ZERO;
        loop {
            let live = self
                .seen()
                .iter()
                .all(|(_, scope, _)| matches!(scope.state, State::Live));
            if live && self.is_not_past(revision) {
                break;
            }
            if waited > RECOVERY {
                return self.report(format!(
                    "a version that the server refuses was not given up within {RECOVERY:?}"
                ));
            }
            self.advance(CHECK_EVERY).await;
            waited += CHECK_EVERY;
            if self.check().is_none() {
                return;
            }
        }
        self.settle_rewind();
        if self.plan.server.watch_list != WatchList::On {
            return;
        }
        for (number, scope) in self.without_streams() {
            if !before.contains(&(number, scope.clone())) {
                self.report(format!(
                    "informer {number} in {scope} no longer streams its initial state because of a version"
                ));
            }
        }
    }

    /// The informers and scopes that read their state by lists because streams were refused.
    fn without_streams(&self) -> Vec<(usize, Scope)> {
        let seen = self.seen().into_iter();
        seen.filter(|(_, scope, _)| matches!(scope.watch_list, WatchListVerdict::Refused { .. }))
            .map(|(number, scope, _)| (number, scope.scope))
            .collect()
    }

    /// The server's history goes back, and watches from later revisions stay open and silent, as those of a
    /// kube-apiserver over a restored etcd do. Nothing is written before every informer has noticed.
    pub(super) async fn silent_rewind(&mut self, back: u64) {
        let before = self.seen();
        let Some(revision) = self.begin_rewind(back) else {
            return;
        };
        let mut waited = Duration::ZERO;
        while !self.is_not_past(revision) {
            if waited > SILENT_REWIND {
                return self.report(format!(
                    "the rewind to {revision}, without a refusal, was not noticed within {SILENT_REWIND:?}"
                ));
            }
            self.advance(CHECK_EVERY).await;
            waited += CHECK_EVERY;
            if self.check().is_none() {
                return;
            }
        }
        self.settle_rewind();
        for ((number, before, _), (_, after, _)) in before.iter().zip(self.seen()) {
            let was_ahead = before
                .version
                .as_ref()
                .is_some_and(|version| version.to_string().parse().is_ok_and(|seen: u64| seen > revision));
            if was_ahead && after.counts.rewinds == before.counts.rewinds {
                self.verdict.report(
                    "I1",
                    format!(
                        "informer {number} in {} followed a rewind and reports none",
                        after.scope
                    ),
                );
            }
        }
    }

    /// Transforms and commits take long. Only the informers they belong to fall behind.
    pub(super) async fn slow_work(&mut self, time: Duration) {
        let beside = self.plain_informer();
        if beside.start().is_err() || beside.synced_within(Duration::from_secs(60)).await.is_err() {
            return self.report("an informer without faults does not sync".to_owned());
        }
        simulation::set_work_time(time);
        for _ in 0..20 {
            self.touch();
            self.advance(Duration::from_secs(1)).await;
            let _ = self.check();
            if let Some(what) = self.is_behind(&beside) {
                self.verdict
                    .report("I14", format!("beside slow transforms {what}"));
                break;
            }
        }
        simulation::set_work_time(self.plan.work);
        beside.shutdown().await;
    }

    /// An informer over everything, without a transform, that does all its work inline.
    pub(super) fn plain_informer(&self) -> SharedInformer<ConfigMap> {
        let client = wire::client(&self.server, <_>::default(), <_>::default(), false);
        wire::plain_builder(client, self.plan.seed)
            .build()
            .expect("the options are valid")
    }

    /// What the server has and the informer does not have.
    fn is_behind(&self, informer: &SharedInformer<ConfigMap>) -> Option<String> {
        let history = self.history();
        history.all_at(u64::MAX).find_map(|(key, state)| {
            let held = informer.indexer().get(&object_key(key));
            let is_same = held.as_ref().is_some_and(|held| ObjectState::of(held) == *state);
            (!is_same).then(|| format!("{key} is {state}, and another informer does not have it"))
        })
    }
}
