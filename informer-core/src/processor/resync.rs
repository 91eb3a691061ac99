//! When each handler receives every object again, by client-go's two-level rule. It has no timer of its
//! own.

use std::time::Duration;

use tokio::time::Instant;

use crate::handler::HandlerResync;

/// The shortest period.
const MINIMUM: Duration = Duration::from_secs(1);

/// The longest period. Longer ones are practically never, and would overflow the arithmetic of instants.
const MAXIMUM: Duration = Duration::from_secs(365 * 24 * 3600);

/// The check period of an informer, which bounds the resync periods of its handlers.
///
/// Every `check_period` the informer checks whether a handler's own period has passed. Before the informer
/// starts, a handler that requests a shorter period lowers the check period; afterwards the handler's
/// period is raised to it. Without a check period there are no resyncs.
#[derive(Debug)]
pub(super) struct ResyncPlan {
    /// The informer's own period, for handlers that request none. Requests of other handlers do not change
    /// it.
    default_period: Option<Duration>,
    check_period: Option<Duration>,
    frozen: bool,
}

/// The resync schedule of one handler. The default is never.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    requested: Option<Duration>,
    cycle: Option<Cycle>,
}

#[derive(Debug)]
struct Cycle {
    period: Duration,
    next: Instant,
}

impl ResyncPlan {
    pub(super) fn new(check_period: Option<Duration>) -> Self {
        let check_period = check_period.map(within_bounds);
        Self {
            default_period: check_period,
            check_period,
            frozen: false,
        }
    }

    pub(super) fn check_period(&self) -> Option<Duration> {
        self.check_period
    }

    /// The schedule of a new handler. May lower the check period; the caller then restarts the schedules of
    /// the other handlers.
    pub(super) fn admit(&mut self, requested: HandlerResync, now: Instant) -> Schedule {
        let mut requested = match requested {
            HandlerResync::Inherit => self.default_period,
            HandlerResync::Never => None,
            HandlerResync::Every(period) => Some(within_bounds(period)),
        };
        match (requested, self.check_period) {
            (Some(period), Some(check)) if period < check && self.frozen => requested = Some(check),
            (Some(period), Some(check)) if period < check => self.check_period = requested,
            (Some(_), None) => {
                tracing::warn!("handler requested resyncs, but its informer has no resync period");
            }
            _ => {}
        }
        let mut schedule = Schedule {
            requested,
            cycle: None,
        };
        schedule.restart(self.check_period, now);
        schedule
    }

    /// Fixes the check period, because the informer has started, and returns it. The caller restarts all
    /// schedules, so that periods count from the start.
    pub(super) fn freeze(&mut self) -> Option<Duration> {
        self.frozen = true;
        self.check_period
    }
}

impl Schedule {
    /// How often the handler receives every object again.
    pub(super) fn period(&self) -> Option<Duration> {
        Some(self.cycle.as_ref()?.period)
    }

    /// Whether the period has passed. If so, the next one starts now and not when this one ended: a process
    /// that was suspended for a day gets one resync, not one for each period of that day.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        match &mut self.cycle {
            Some(cycle) if now >= cycle.next => {
                cycle.next = now + cycle.period;
                true
            }
            _ => false,
        }
    }

    /// Starts a period, no shorter than the check period.
    pub(super) fn restart(&mut self, check_period: Option<Duration>, now: Instant) {
        self.cycle = self.requested.zip(check_period).map(|(requested, check)| {
            let period = requested.max(check);
            Cycle {
                period,
                next: now + period,
            }
        });
    }
}

fn within_bounds(period: Duration) -> Duration {
    period.clamp(MINIMUM, MAXIMUM)
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    /// A plan with the schedules of its handlers, as a processor has them.
    struct PlanWithSchedules {
        plan: ResyncPlan,
        schedules: Vec<Schedule>,
    }

    impl PlanWithSchedules {
        fn new(check_period: Option<Duration>) -> Self {
            Self {
                plan: ResyncPlan::new(check_period),
                schedules: Vec::new(),
            }
        }

        fn add(&mut self, requested: Option<Duration>, now: Instant) {
            let requested = requested.map_or(HandlerResync::Never, HandlerResync::Every);
            let schedule = self.plan.admit(requested, now);
            self.restart(now);
            self.schedules.push(schedule);
        }

        fn freeze(&mut self, now: Instant) {
            self.plan.freeze();
            self.restart(now);
        }

        fn restart(&mut self, now: Instant) {
            for schedule in &mut self.schedules {
                schedule.restart(self.plan.check_period(), now);
            }
        }

        fn periods(&self) -> Vec<Option<Duration>> {
            self.schedules.iter().map(Schedule::period).collect()
        }

        /// The positions of the handlers that are due.
        fn due(&mut self, now: Instant) -> Vec<usize> {
            let handlers = self.schedules.iter_mut().enumerate();
            handlers
                .filter_map(|(position, handler)| handler.take_due(now).then_some(position))
                .collect()
        }
    }

    /// Adds handlers in order, some before and some after the start, and compares the resulting periods.
    fn check(
        informer: Option<Duration>,
        before: &[Option<Duration>],
        after: &[Option<Duration>],
        expected: (Option<Duration>, &[Option<Duration>]),
    ) {
        let now = Instant::now();
        let mut handlers = PlanWithSchedules::new(informer);
        for requested in before {
            handlers.add(*requested, now);
        }
        handlers.freeze(now);
        for requested in after {
            handlers.add(*requested, now);
        }
        assert_eq!(
            (handlers.plan.check_period(), handlers.periods().as_slice()),
            expected
        );
    }

    /// Upstream: TestResyncCheckPeriod.
    #[test]
    fn the_check_period_is_the_shortest_request_before_the_start() {
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
    fn periods_below_one_second_are_raised_to_one_second() {
        check(
            Some(Duration::from_millis(10)),
            &[Some(Duration::from_millis(3))],
            &[],
            (secs(1), &[secs(1)]),
        );
    }

    #[test]
    fn periods_above_one_year_are_lowered_to_one_year() {
        let year = Some(MAXIMUM);
        check(
            Some(Duration::MAX),
            &[Some(Duration::MAX)],
            &[Some(Duration::MAX)],
            (year, &[year, year]),
        );
    }

    /// Upstream: TestListenerResyncPeriods, its arithmetic.
    #[test]
    fn each_handler_is_due_after_its_own_period() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut handlers = PlanWithSchedules::new(secs(1));
        handlers.add(None, start);
        handlers.add(secs(2), start);
        handlers.add(secs(3), start);
        handlers.freeze(start);
        assert_eq!(handlers.due(at(1)), Vec::<usize>::new());
        assert_eq!(handlers.due(at(2)), [1]);
        assert_eq!(handlers.due(at(3)), [2]);
        assert_eq!(handlers.due(at(4)), [1]);
        assert_eq!(handlers.due(at(6)), [1, 2]);
    }

    #[test]
    fn one_resync_follows_a_long_suspend() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut handlers = PlanWithSchedules::new(secs(10));
        handlers.add(secs(10), start);
        handlers.freeze(start);
        assert_eq!(handlers.due(at(86_400)), [0], "one resync for the whole day");
        for second in 1..10 {
            assert_eq!(handlers.due(at(86_400 + second)), Vec::<usize>::new());
        }
        assert_eq!(
            handlers.due(at(86_410)),
            [0],
            "the next period counts from the resync"
        );
    }
}
