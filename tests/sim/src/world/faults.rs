//! Steps that add faults: single rules, refusals, silent watches, changes that no watch delivers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use informer_testing::{Fault, Garble, Rule, Verb};

use super::World;
use crate::plan::{AfterStall, FaultPlan, NAMESPACES, PLACES, Refusal, Transform, Write, WriteKind};

impl World<'_> {
    pub(super) fn add_fault(&self, plan: &FaultPlan) {
        let fault = match plan.fault {
            // The plan has a lag, because the revision is known only now.
            Fault::Stale(lag) => Fault::Stale(self.server.revision().saturating_sub(lag)),
            ref other => other.clone(),
        };
        if let Fault::GarbleItem { garble, .. } | Fault::GarbleEvent { garble, .. } = &fault
            && *garble != Garble::Content
        {
            self.doubted.store(true, Ordering::Relaxed);
        }
        // A client that cannot use the newest state of an object may accept an older one that is sent again.
        // That is no violation, so the two kinds of faults are never combined.
        let spoils = matches!(fault, Fault::GarbleItem { .. } | Fault::GarbleEvent { .. });
        let repeats = matches!(fault, Fault::RepeatEvents { .. });
        let plans = &self.plan.informers;
        let fails = plans
            .iter()
            .any(|plan| matches!(plan.transform, Transform::Failing | Transform::Panicking));
        if (repeats && (fails || self.spoiled.get())) || (spoils && self.repeated.get()) {
            return;
        }
        self.spoiled.set(self.spoiled.get() || spoils);
        self.repeated.set(self.repeated.get() || repeats);
        let mut rule = Rule::new(fault);
        if let Some(verb) = plan.on {
            rule = rule.on(verb);
        }
        if let Some(times) = plan.times {
            rule = rule.times(times);
        }
        self.server.faults().add(rule);
    }

    pub(super) async fn refuse(&mut self, first: Refusal, times: u64, emptied: bool) {
        if emptied {
            for place in 0..PLACES {
                self.write(Write {
                    place,
                    value: 0,
                    kind: WriteKind::Delete,
                });
            }
        }
        let (one, other) = match first {
            Refusal::Forbidden => (Fault::Forbidden, Fault::not_found()),
            Refusal::NotFound => (Fault::not_found(), Fault::Forbidden),
        };
        let faults = self.server.faults();
        faults.add(Rule::new(one).times(times));
        faults.add(Rule::new(other).after(times).times(times));
        self.server.close_watches();
        self.advance(Duration::from_secs(60)).await;
    }

    pub(super) async fn stall(&mut self, then: AfterStall) {
        let faults = self.server.faults();
        if then == AfterStall::List {
            self.doubted.store(true, Ordering::Relaxed);
            let spoiled = Fault::GarbleItem {
                index: 0,
                garble: Garble::Key,
            };
            self.add_fault(&FaultPlan {
                fault: spoiled,
                on: None,
                times: Some(3),
            });
            self.act_unseen(&[Write {
                place: 1,
                value: 1,
                kind: WriteKind::Recreate,
            }]);
            self.advance(Duration::from_secs(5)).await;
        }
        // Each scope of each informer gets a silent watch.
        let watches = (self.subjects.len() * NAMESPACES.len()) as u64;
        let silent = faults.add(
            Rule::new(Fault::HalfOpen { after: 0 })
                .on(Verb::Watch)
                .times(watches),
        );
        self.server.close_watches();
        self.advance(Duration::from_secs(40)).await;
        let next = match then {
            AfterStall::Nothing | AfterStall::List => None,
            AfterStall::Refused(Refusal::Forbidden) => Some(Fault::Forbidden),
            AfterStall::Refused(Refusal::NotFound) => Some(Fault::not_found()),
            AfterStall::Unavailable => Some(Fault::unavailable()),
            AfterStall::Stop => Some(Fault::Hang),
        };
        let next = next.map(|fault| faults.add(Rule::new(fault)));
        let mut waited = Duration::ZERO;
        let piece = Duration::from_secs(10);
        while waited < Duration::from_secs(700) && self.verdict.first().is_none() {
            self.advance(piece).await;
            waited += piece;
            if then == AfterStall::Stop {
                for subject in &mut self.subjects {
                    if subject.is_stalled() {
                        subject.stop().await;
                    }
                }
            }
        }
        faults.remove(silent);
        next.into_iter().for_each(|rule| faults.remove(rule));
    }

    pub(super) fn act_unseen(&self, writes: &[Write]) {
        self.server.close_watches();
        writes.iter().for_each(|write| self.write(*write));
        self.server.compact(self.server.revision());
    }
}
