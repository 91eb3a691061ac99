//! The recent past of each informer: a ring of samples, for rates and charts.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informer_core::InformerStatus;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::view;
use crate::SharedInformerFactory;

/// The time between two samples.
pub(super) const EVERY: Duration = Duration::from_secs(2);
/// The samples that are kept of each informer: five minutes.
pub(super) const SAMPLES: usize = 150;
/// The time over which the present rate is measured.
const RATE_OVER: Duration = Duration::from_secs(10);

/// The samples of every informer of a factory.
#[derive(Default)]
pub(super) struct History {
    rings: Mutex<HashMap<String, Ring>>,
    /// Whether the task that takes the samples was started.
    is_started: AtomicBool,
}

/// One informer at one moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    /// Events received since the informer was built.
    events: u64,
    backlog: usize,
}

/// The last samples of one informer, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring(VecDeque<Sample>);

impl History {
    /// Starts to take samples, unless that was done or no runtime exists. The task ends with the factory, and
    /// when the history is dropped.
    pub(super) fn start(self: &Arc<Self>, factory: &SharedInformerFactory) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.is_started.swap(true, Ordering::Relaxed) {
            return;
        }
        let (history, weak, stopped) = (Arc::downgrade(self), factory.downgrade(), factory.stopped());
        runtime.spawn(async move {
            let samples = async {
                let mut ticks = interval(EVERY);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    ticks.tick().await;
                    let (Some(history), Some(factory)) = (history.upgrade(), weak.upgrade()) else {
                        return;
                    };
                    history.sample(&factory);
                }
            };
            tokio::select! {
                () = stopped => {}
                () = samples => {}
            }
        });
    }

    /// Takes one sample of each informer, and forgets those that the factory no longer has.
    fn sample(&self, factory: &SharedInformerFactory) {
        let at = Instant::now();
        let informers = factory.status().informers;
        let ids = view::ids(informers.iter().map(|informer| informer.resource.as_str()));
        let samples = informers.iter().map(|informer| Sample::new(at, informer));
        let samples: Vec<(String, Sample)> = ids.into_iter().zip(samples).collect();
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.retain(|id, _| samples.iter().any(|(present, _)| present == id));
        for (id, sample) in samples {
            rings.entry(id).or_default().push(sample);
        }
    }

    /// Returns the samples of an informer.
    pub(super) fn of(&self, id: &str) -> Ring {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.get(id).cloned().unwrap_or_default()
    }
}

impl Sample {
    fn new(at: Instant, status: &InformerStatus) -> Self {
        Self {
            at,
            events: status.counts().events,
            backlog: view::backlog(status),
        }
    }

    /// The events per second from an earlier sample to this one.
    fn rate_since(&self, earlier: &Self) -> Option<f64> {
        let seconds = self.at.duration_since(earlier.at).as_secs_f64();
        // The number falls when a scope is removed.
        let events = self.events.saturating_sub(earlier.events);
        (seconds > 0.0).then(|| events as f64 / seconds)
    }
}

impl Ring {
    fn push(&mut self, sample: Sample) {
        if self.0.len() == SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// The events per second between each two samples.
    pub(super) fn rates(&self) -> Vec<f64> {
        let pairs = self.0.iter().zip(self.0.iter().skip(1));
        pairs
            .map(|(earlier, later)| later.rate_since(earlier).unwrap_or_default())
            .collect()
    }

    /// The backlog at each sample.
    pub(super) fn backlogs(&self) -> Vec<usize> {
        self.0.iter().map(|sample| sample.backlog).collect()
    }

    /// The events per second during the last seconds; `None` before the second sample.
    pub(super) fn rate(&self) -> Option<f64> {
        let newest = self.0.back()?;
        let mut earlier = self.0.iter().rev().skip(1);
        let is_far = |sample: &&Sample| newest.at.duration_since(sample.at) >= RATE_OVER;
        let from = earlier.find(is_far).or(self.0.front())?;
        newest.rate_since(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring with a sample every two seconds, of these numbers of events.
    fn ring(events: impl IntoIterator<Item = u64>) -> Ring {
        let begin = Instant::now();
        let mut ring = Ring::default();
        for (place, events) in (0..).zip(events) {
            ring.push(Sample {
                at: begin + EVERY * place,
                events,
                backlog: events as usize,
            });
        }
        ring
    }

    #[test]
    fn rates_are_differences_over_time() {
        assert_eq!(ring([]).rate(), None);
        assert_eq!(ring([7]).rate(), None);
        assert_eq!(ring([7, 11]).rate(), Some(2.0));
        assert_eq!(ring([0, 4, 4, 5]).rates(), [2.0, 0.0, 0.5]);
        assert_eq!(ring([9, 4]).rate(), Some(0.0), "a scope was removed");
        // Only the last ten seconds count.
        assert_eq!(
            ring([0, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]).rate(),
            Some(0.0)
        );
    }

    #[test]
    fn the_oldest_samples_are_dropped() {
        let ring = ring(0..1_000);
        let backlogs = ring.backlogs();
        assert_eq!((backlogs.len(), backlogs[0]), (SAMPLES, 1_000 - SAMPLES));
        assert_eq!(ring.rates().len(), SAMPLES - 1);
    }
}
