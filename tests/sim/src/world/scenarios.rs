//! Scenarios: faults that last for minutes or hours, and checks of the informers meanwhile.

use std::time::Duration;

use informer_core::{Scope, ScopeStatus, State};
use informer_testing::{Cut, Fault, FaultId, Rule, Verb};

use super::World;
use super::settle::BOUND;
use crate::plan::{Scenario, Write, WriteKind};
use crate::wire::Contact;

/// The number of watches that are cut in one scenario.
const CUTS: u32 = 12;

/// The longest wait of the default backoff with its jitter, and a watch that follows it.
const LONGEST_BACKOFF: Duration = Duration::from_secs(150);

/// The longest time between two watches of which the first one was healthy: the minimum between requests, its
/// jitter and a margin.
const GAP: Duration = Duration::from_millis(300);

/// How long a watch must have been open before a scenario: one of less than a second counts as a failure when
/// it ends, and the next request waits for a backoff. A fault that was cleared may still end open watches.
const STEADY: Duration = Duration::from_secs(2);

/// How long watches are black-holed, and how often the informers are checked.
const BLACK_HOLE: Duration = Duration::from_secs(3 * 3_600);
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// An initial stream without its end must be replaced by a list within this time: the backoffs before and
/// after it, and the time without a new object.
const BUSY_BOUND: Duration = Duration::from_secs(360);

/// Lists whose answers are late must succeed within this time: the deadline doubles up to the delay, and a
/// list may have one page per object.
const LATE_BOUND: Duration = Duration::from_secs(3_600);

/// A watch of this age without a bookmark counts as mute: the server's version is probed after two of them.
const MUTE: Duration = Duration::from_secs(200);

/// The status and request counts of one scope of one informer, at one time.
pub(super) type Seen = (usize, ScopeStatus, Contact);

impl World<'_> {
    pub(super) async fn scenario(&mut self, scenario: &Scenario) {
        if !self.is_ready().await {
            return;
        }
        match scenario {
            Scenario::CutEvery(age) => self.cut_every(*age).await,
            Scenario::BlackHole => self.black_hole().await,
            Scenario::BusyInitial => self.busy_initial().await,
            Scenario::LateAnswer(delay) => self.late_answer(*delay).await,
            Scenario::Foreign(namespace) => self.foreign(*namespace).await,
            Scenario::EndlessPages => self.endless_pages().await,
            Scenario::InvalidVersion(version) => self.invalid_version(*version).await,
            Scenario::SilentRewind { back } => self.silent_rewind(*back).await,
            Scenario::SlowWork(time) => self.slow_work(*time).await,
            Scenario::RefusedWaits => self.refused_waits().await,
            Scenario::MuteWatches => self.mute_watches().await,
        }
    }

    /// Ends all faults and waits until every scope of every running informer has a steady watch: one that
    /// delivered a change and stayed open for [`STEADY`].
    async fn is_ready(&mut self) -> bool {
        self.server.faults().clear();
        self.converge().await;
        let mut waited = Duration::ZERO;
        while self.verdict.first().is_none() {
            let before = self.seen();
            if before.is_empty() {
                return false;
            }
            self.touch();
            self.advance(STEADY).await;
            waited += STEADY;
            let is_steady = |(before, now): (&Seen, &Seen)| {
                let is_live = |(_, scope, _): &Seen| matches!(scope.state, State::Live);
                is_live(before) && is_live(now) && before.2.opened == now.2.opened
            };
            // Waits if a watch is open and silent.
            self.converge().await;
            let now = self.seen();
            let mut both = before.iter().zip(&now);
            let Some((_, (number, scope, _))) = both.find(|both| !is_steady(*both)) else {
                return self.verdict.first().is_none();
            };
            if waited > BOUND {
                self.report(format!(
                    "informer {number} in {} has no steady watch {BOUND:?} after the last fault",
                    scope.scope
                ));
                return false;
            }
            self.advance(Duration::from_secs(5)).await;
            waited += Duration::from_secs(5);
        }
        false
    }

    pub(super) fn report(&self, what: String) {
        self.verdict.report("I12", what);
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        let subjects = self.subjects.iter().enumerate();
        subjects
            .flat_map(|(number, subject)| {
                let scopes = subject.scopes().into_iter();
                scopes.map(move |(scope, contact)| (number, scope, contact))
            })
            .collect()
    }

    /// Changes an object in each namespace, so that each scope receives an event that it accepts.
    pub(super) fn touch(&self) {
        // Of tier `a`, and accepted by every transform.
        const VALUES: [u32; 8] = [1, 2, 4, 5, 8, 10, 11, 13];
        let turn = self.touched.replace(self.touched.get() + 1);
        for place in 0..3 {
            self.write(Write {
                place,
                value: VALUES[turn % VALUES.len()],
                kind: WriteKind::Put,
            });
        }
    }

    /// Makes every informer read the whole state: its watches end, and their history is compacted.
    pub(super) fn force_lists(&self) {
        self.server.close_watches();
        self.touch();
        self.server.compact(self.server.revision());
    }

    pub(super) fn strike(&self, rule: Rule) -> FaultId {
        self.server.faults().add(rule)
    }

    async fn cut_every(&mut self, age: Duration) {
        let rule = self.strike(Rule::new(Fault::Cut(Cut::After(age))).on(Verb::Watch));
        let before = self.seen();
        self.server.close_watches();
        for _ in 0..CUTS * 3 {
            self.advance(age / 3).await;
            self.touch();
        }
        self.server.faults().remove(rule);
        for ((number, scope, before), (_, _, after)) in before.into_iter().zip(self.seen()) {
            let opened = after.opened - before.opened;
            let blind = after.blind - before.blind;
            if blind > GAP * (opened as u32 + 1) {
                self.report(format!(
                    "informer {number} in {} had no watch for {blind:?}, between {opened} healthy watches",
                    scope.scope
                ));
            }
            if opened < u64::from(CUTS) / 2 {
                self.report(format!(
                    "informer {number} in {} opened {opened} watches while {CUTS} were cut",
                    scope.scope
                ));
            }
        }
    }

    async fn black_hole(&mut self) {
        let rule = self.strike(Rule::new(Fault::HalfOpen { after: 0 }).on(Verb::Watch));
        let before = self.seen();
        self.server.close_watches();
        let mut live = vec![0_u32; before.len()];
        let mut looks = 0;
        let mut waited = Duration::ZERO;
        while waited < BLACK_HOLE && self.verdict.first().is_none() {
            self.advance(CHECK_EVERY).await;
            waited += CHECK_EVERY;
            looks += 1;
            for (count, (_, scope, _)) in live.iter_mut().zip(self.seen()) {
                *count += u32::from(matches!(scope.state, State::Live));
            }
            let _ = self.check();
        }
        self.server.faults().remove(rule);
        for (((number, before, sent), (_, after, now)), live) in before.into_iter().zip(self.seen()).zip(live)
        {
            let errors = after.counts.errors - before.counts.errors;
            let lists = after.counts.lists - before.counts.lists;
            let requests = now.requests - sent.requests;
            // A watch is given up after 10.5 minutes at most, and every fifth failure leads to a list.
            if errors < 10 || lists < 2 || live * 2 > looks || requests > 200 {
                self.report(format!(
                    "informer {number} in {}, with silent watches for {waited:?}: {errors} errors, \
                     {lists} lists, {requests} requests, live in {live} of {looks} checks",
                    after.scope
                ));
            }
        }
    }

    async fn busy_initial(&mut self) {
        let rule = self.strike(Rule::new(Fault::OmitEndBookmark).on(Verb::Watch));
        self.expect_lists(BUSY_BOUND, Duration::from_secs(20), Self::touch)
            .await;
        self.server.faults().remove(rule);
    }

    async fn late_answer(&mut self, delay: Duration) {
        let rule = self.strike(Rule::new(Fault::Delay(delay)).on(Verb::List));
        self.expect_lists(LATE_BOUND, Duration::from_secs(60), |_| {})
            .await;
        self.server.faults().remove(rule);
    }

    /// Makes every informer read the whole state, which must succeed within the bound.
    async fn expect_lists(&mut self, bound: Duration, every: Duration, meanwhile: impl Fn(&Self)) {
        let before = self.seen();
        self.force_lists();
        let mut waited = Duration::ZERO;
        while self.verdict.first().is_none() {
            self.advance(every).await;
            waited += every;
            let _ = self.check();
            let now = self.seen();
            let mut both = before.iter().zip(&now);
            let missing = both.find(|((_, before, _), (_, now, _))| now.counts.lists == before.counts.lists);
            let Some((_, (number, scope, _))) = missing else {
                return;
            };
            if waited >= bound {
                return self.report(format!(
                    "informer {number} in {} has not read the whole state within {bound:?}: {}",
                    scope.scope, scope.state
                ));
            }
            meanwhile(self);
        }
    }

    /// A mute watch, a watch whose version is refused, and the mute watch that follows the newest state. The
    /// informers probe the server, find nothing wrong, and stay live.
    async fn mute_watches(&mut self) {
        let before = self.seen();
        let mute = self.strike(Rule::new(Fault::OmitProgressBookmarks));
        self.server.close_watches();
        self.advance(MUTE).await;
        let refusals = Rule::new(Fault::version_too_large()).on(Verb::Watch);
        let refused = self.strike(refusals.times(before.len() as u64));
        self.server.close_watches();
        self.advance(LONGEST_BACKOFF + MUTE).await;
        self.server.faults().remove(refused);
        self.server.close_watches();
        self.advance(CHECK_EVERY).await;
        self.server.faults().remove(mute);
        let _ = self.check();
        for ((number, before, _), (_, after, _)) in before.into_iter().zip(self.seen()) {
            let lists = after.counts.lists - before.counts.lists;
            let errors = after.counts.errors - before.counts.errors;
            if !matches!(after.state, State::Live) || lists == 0 || errors > 10 {
                self.report(format!(
                    "informer {number} in {}, whose watches bring nothing: {errors} errors, {lists} lists, \
                     state {}",
                    after.scope, after.state
                ));
            }
        }
    }

    async fn foreign(&mut self, namespace: Option<&'static str>) {
        let fault = Fault::Foreign {
            namespace: namespace.map(str::to_owned),
        };
        let rule = self.strike(Rule::new(fault));
        let before = self.seen();
        self.force_lists();
        for _ in 0..18 {
            self.advance(Duration::from_secs(10)).await;
            self.touch();
            let _ = self.check();
        }
        self.server.faults().remove(rule);
        for ((number, before, _), (_, after, _)) in before.into_iter().zip(self.seen()) {
            let is_struck = match &after.scope {
                Scope::Namespace(own) => namespace != Some(&**own),
                _ => false,
            };
            if is_struck && after.counts.out_of_scope == before.counts.out_of_scope {
                self.verdict.report(
                    "I4",
                    format!(
                        "informer {number} in {} received objects of another namespace and counted none",
                        after.scope
                    ),
                );
            }
        }
    }
}
