//! When each handler is to hear of every object again: upstream's two-level rule, without a clock of its own.

use std::time::Duration;

use tokio::time::Instant;

/// Less than this is not worth asking for.
const MINIMUM: Duration = Duration::from_secs(1);

/// More than this is as good as never, and keeps the arithmetic of instants safe.
const MAXIMUM: Duration = Duration::from_secs(365 * 24 * 3600);

/// The check period of an informer and the resync periods of its handlers.
///
/// The informer looks every `check_period` whether some handler's own period has passed. Before it starts, a handler
/// that asks for less lowers the check period; afterwards the handler is raised to it. Without a check period there are no
/// resyncs at all.
#[derive(Debug)]
pub(super) struct ResyncPlan {
    /// What a handler gets that asks for nothing else: the informer's own period, whatever others ask for.
    default_period: Option<Duration>,
    check_period: Option<Duration>,
    frozen: bool,
    handlers: Vec<Handler>,
}

#[derive(Debug)]
struct Handler {
    id: u64,
    requested: Option<Duration>,
    effective: Option<Duration>,
    next: Instant,
}

impl ResyncPlan {
    pub(super) fn new(check_period: Option<Duration>) -> Self {
        let check_period = check_period.map(within_reason);
        Self {
            default_period: check_period,
            check_period,
            frozen: false,
            handlers: Vec::new(),
        }
    }

    pub(super) fn default_period(&self) -> Option<Duration> {
        self.default_period
    }

    pub(super) fn check_period(&self) -> Option<Duration> {
        self.check_period
    }

    pub(super) fn add(&mut self, id: u64, requested: Option<Duration>, now: Instant) {
        let mut requested = requested.map(within_reason);
        match (requested, self.check_period) {
            (Some(period), Some(check)) if period < check && self.frozen => requested = Some(check),
            (Some(period), Some(check)) if period < check => {
                self.check_period = Some(period);
                for handler in &mut self.handlers {
                    handler.effective = effective(handler.requested, self.check_period);
                    handler.next = now + handler.effective.unwrap_or_default();
                }
            }
            (Some(_), None) => {
                tracing::warn!(
                    "a handler asked for resyncs, but its informer does none: give the informer a resync period"
                );
            }
            _ => {}
        }
        let effective = effective(requested, self.check_period);
        self.handlers.push(Handler {
            id,
            requested,
            effective,
            next: now + effective.unwrap_or_default(),
        });
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.handlers.retain(|handler| handler.id != id);
    }

    /// The informer has started: periods count from now, and the check period stays as it is.
    pub(super) fn freeze(&mut self, now: Instant) {
        self.frozen = true;
        for handler in &mut self.handlers {
            handler.next = now + handler.effective.unwrap_or_default();
        }
    }

    pub(super) fn period(&self, id: u64) -> Option<Duration> {
        self.handlers.iter().find(|handler| handler.id == id)?.effective
    }

    /// The handlers whose period has passed; their next one starts now.
    pub(super) fn due(&mut self, now: Instant) -> Vec<u64> {
        let mut due = Vec::new();
        for handler in &mut self.handlers {
            if let Some(period) = handler.effective
                && now >= handler.next
            {
                handler.next = now + period;
                due.push(handler.id);
            }
        }
        due
    }
}

fn within_reason(period: Duration) -> Duration {
    period.clamp(MINIMUM, MAXIMUM)
}

/// What a handler gets of what it asked for.
fn effective(requested: Option<Duration>, check: Option<Duration>) -> Option<Duration> {
    Some(requested?.max(check?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    /// Adds handlers in order, some before and some after the start, and compares what everyone ends up with.
    fn check(
        informer: Option<Duration>,
        before: &[Option<Duration>],
        after: &[Option<Duration>],
        expected: (Option<Duration>, &[Option<Duration>]),
    ) {
        let now = Instant::now();
        let mut plan = ResyncPlan::new(informer);
        let mut id = 0;
        for requested in before {
            plan.add(id, *requested, now);
            id += 1;
        }
        plan.freeze(now);
        for requested in after {
            plan.add(id, *requested, now);
            id += 1;
        }
        let periods: Vec<Option<Duration>> = (0..id).map(|id| plan.period(id)).collect();
        assert_eq!((plan.check_period(), periods.as_slice()), expected);
    }

    /// Upstream: TestResyncCheckPeriod.
    #[test]
    fn the_check_period_sinks_to_the_smallest_request_before_the_start() {
        check(
            secs(43_200),
            &[None, secs(60), secs(3_600), secs(10)],
            &[],
            (secs(10), &[None, secs(60), secs(3_600), secs(10)]),
        );
    }

    #[test]
    fn a_handler_added_after_the_start_is_raised_to_the_check_period() {
        check(
            secs(60),
            &[secs(60)],
            &[secs(5), secs(600)],
            (secs(60), &[secs(60), secs(60), secs(600)]),
        );
    }

    #[test]
    fn without_a_check_period_there_are_no_resyncs() {
        check(None, &[secs(5)], &[secs(5)], (None, &[None, None]));
    }

    #[test]
    fn less_than_a_second_is_a_second() {
        check(
            Some(Duration::from_millis(10)),
            &[Some(Duration::from_millis(3))],
            &[],
            (secs(1), &[secs(1)]),
        );
    }

    #[test]
    fn a_period_meant_as_never_is_a_year() {
        let year = Some(MAXIMUM);
        check(
            Some(Duration::MAX),
            &[Some(Duration::MAX)],
            &[Some(Duration::MAX)],
            (year, &[year, year]),
        );
    }

    /// Upstream: TestListenerResyncPeriods, the arithmetic of it.
    #[test]
    fn each_handler_is_due_in_its_own_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut plan = ResyncPlan::new(secs(1));
        plan.add(1, None, start);
        plan.add(2, secs(2), start);
        plan.add(3, secs(3), start);
        plan.freeze(start);
        assert_eq!(plan.due(at(1)), Vec::<u64>::new());
        assert_eq!(plan.due(at(2)), [2]);
        assert_eq!(plan.due(at(3)), [3]);
        assert_eq!(plan.due(at(4)), [2]);
        assert_eq!(plan.due(at(6)), [2, 3]);
    }
}
