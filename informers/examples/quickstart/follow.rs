//! The informer at work: its first list, then every change, and the cache every few seconds.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use informers::core::v1::PodLister;
use informers::{
    Event, EventStream, Index, Origin, SharedInformer, SharedInformerFactory, State, SyncError, WaitingFor,
};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::{Instant, interval, interval_at};

use super::overview::Overview;
use super::patience::{self, Patience, Verdict};
use super::shared::ends::Ending;
use super::shared::screen::Tone;
use super::shared::{Failure, NoCluster, Session, pod};

/// How often the cache is shown, if it looks different from the last time.
const OVERVIEW_EVERY: Duration = Duration::from_secs(5);
/// How often the last line of a terminal is drawn anew.
const FOOTER_EVERY: Duration = Duration::from_millis(200);
/// How often a pipe hears of a list that is still going on.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// How many of the pods that were there from the start are told of.
const MOST_INITIAL: usize = 8;

/// Shows what one informer does.
pub(crate) struct Follower<'a> {
    factory: &'a SharedInformerFactory,
    informer: SharedInformer<Pod>,
    pub(crate) pods: PodLister,
    pub(crate) by_node: Index<Pod, String>,
    pub(crate) session: &'a mut Session,
    pub(crate) started: Instant,
    pub(crate) heard: Heard,
    trouble: Trouble,
    /// The cache as it was shown last.
    shown: Option<Overview>,
}

/// The events so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) initial: usize,
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
}

/// Whether the server is there, as far as the user was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    Told,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(
        factory: &'a SharedInformerFactory,
        by_node: Index<Pod, String>,
        session: &'a mut Session,
    ) -> Self {
        let pods = factory.core().v1().pods();
        Self {
            factory,
            informer: pods.informer(),
            pods: pods.lister(),
            by_node,
            session,
            started: Instant::now(),
            heard: Heard::default(),
            trouble: Trouble::None,
            shown: None,
        }
    }

    /// Starts the informer and follows it to the end.
    pub(crate) async fn follow(&mut self) -> Result<Ending, Failure> {
        // Made before the start, so that what the first list brings comes as initial additions.
        let mut events = self.informer.events();
        self.factory.start();
        let first = self.sync().await;
        self.session.screen.footer("")?;
        if let Some(ending) = first? {
            return Ok(ending);
        }
        if let Some(ending) = self.tell_initial(&mut events).await? {
            return Ok(ending);
        }
        self.show_overview()?;
        self.session.ends.start_clock();
        let ending = self.tell(&mut events).await;
        self.session.screen.footer("")?;
        ending
    }

    /// Waits for the first list and shows how far it is.
    async fn sync(&mut self) -> Result<Option<Ending>, Failure> {
        let mut synced = pin!(self.factory.wait_for_sync());
        let mut patience = Patience::new(Instant::now());
        let mut tick = interval(Duration::from_millis(100));
        let mut next_line = Instant::now() + PROGRESS_EVERY;
        loop {
            tokio::select! {
                synced = synced.as_mut() => match synced {
                    Ok(()) => break,
                    Err(error) => return Err(self.given_up(cache_state(&error))),
                },
                ending = self.session.ends.reached() => return Ok(Some(ending)),
                now = tick.tick() => {
                    let state = self.informer.status().state;
                    if let Verdict::GiveUp(trouble) = patience.judge(&state, now) {
                        return Err(self.given_up(trouble.as_ref()));
                    }
                    let progress = progress(&state);
                    let screen = &mut self.session.screen;
                    if !screen.has_footer() && now >= next_line {
                        screen.line(&progress)?;
                        next_line = now + PROGRESS_EVERY;
                    }
                    screen.footer(&progress)?;
                }
            }
        }
        let (pods, time) = (self.pods.len(), self.started.elapsed());
        let screen = &mut self.session.screen;
        screen.footer("")?;
        screen.line(&format!("In sync after {time:.1?}: {pods} pods in the cache."))?;
        screen.line("")?;
        Ok(None)
    }

    /// The failure of a first list that will not come, because of this trouble; `None` if the server never answered.
    fn given_up(&self, trouble: Option<&State>) -> Failure {
        let namespaces = &self.session.options.namespaces;
        NoCluster(patience::explain(trouble, &self.session.address, namespaces)).into()
    }

    /// Tells what was there from the start, however short the time is.
    async fn tell_initial(&mut self, events: &mut EventStream<Pod>) -> Result<Option<Ending>, Failure> {
        let registration = events.registration().clone();
        let mut all_told = pin!(registration.synced());
        loop {
            tokio::select! {
                biased;
                ending = self.session.ends.reached() => return Ok(Some(ending)),
                _ = all_told.as_mut() => return Ok(None),
                event = events.next() => match event {
                    Some(event) => self.tell_event(&event)?,
                    None => return Err("the informer stopped".into()),
                },
            }
        }
    }

    /// Tells every event as it comes.
    async fn tell(&mut self, events: &mut EventStream<Pod>) -> Result<Ending, Failure> {
        let mut states = self.informer.status_changes();
        let mut overview = interval_at(Instant::now() + OVERVIEW_EVERY, OVERVIEW_EVERY);
        let mut footer = interval(FOOTER_EVERY);
        loop {
            // In this order a stream that never pauses cannot keep the program from ending.
            tokio::select! {
                biased;
                ending = self.session.ends.reached() => return Ok(ending),
                _ = overview.tick() => self.show_overview()?,
                _ = footer.tick(), if self.session.screen.has_footer() => self.draw_footer()?,
                true = states.changed() => self.tell_state()?,
                event = events.next() => match event {
                    Some(event) => self.tell_event(&event)?,
                    None => return Err("the informer stopped".into()),
                },
            }
        }
    }

    fn tell_event(&mut self, event: &Event<Pod>) -> Result<(), Failure> {
        let (tone, verb, detail) = match event {
            Event::Added { object, origin, .. } => {
                match origin {
                    Origin::Initial => self.heard.initial += 1,
                    _ => self.heard.added += 1,
                }
                if *origin == Origin::Initial && self.heard.initial > MOST_INITIAL {
                    return Ok(());
                }
                (Tone::Good, "added", pod::describe(object))
            }
            Event::Updated { old, new, .. } => {
                self.heard.updated += 1;
                (Tone::Change, "updated", pod::changes(old, new))
            }
            Event::Deleted(deleted) => {
                self.heard.deleted += 1;
                (Tone::Bad, "deleted", pod::describe_deletion(deleted))
            }
        };
        let name = pod::name(event.object());
        self.tell_line(tone, verb, &name, &detail)?;
        if self.heard.initial == MOST_INITIAL
            && matches!(
                event,
                Event::Added {
                    origin: Origin::Initial,
                    ..
                }
            )
        {
            let more = self.pods.len().saturating_sub(MOST_INITIAL);
            if more > 0 {
                self.tell_line(
                    Tone::Good,
                    "added",
                    &format!("and {more} more that were there"),
                    "",
                )?;
            }
        }
        Ok(())
    }

    fn tell_line(&mut self, tone: Tone, verb: &str, name: &str, detail: &str) -> Result<(), Failure> {
        let time = format!("{:5.1}s", self.started.elapsed().as_secs_f32());
        let time = self.session.screen.paint(Tone::Quiet, &time);
        let verb = self.session.screen.paint(tone, &format!("{verb:<8}"));
        Ok(self
            .session
            .screen
            .line(&format!("{time}  {verb} {name:<38} {detail}"))?)
    }

    /// Says when the server is lost and when it is back; the informer deals with both.
    fn tell_state(&mut self) -> Result<(), Failure> {
        let state = self.informer.status().state;
        match (&state, self.trouble) {
            (
                State::Stalled | State::BackingOff { .. } | State::Forbidden { .. } | State::NotFound { .. },
                Trouble::None,
            ) => {
                self.trouble = Trouble::Told;
                self.tell_line(Tone::Bad, "trouble", &state.to_string(), "")
            }
            (State::Live, Trouble::Told) => {
                self.trouble = Trouble::None;
                self.tell_line(Tone::Good, "live", "the watch is open again", "")
            }
            _ => Ok(()),
        }
    }

    /// Shows the cache, all of it at one moment.
    fn show_overview(&mut self) -> Result<(), Failure> {
        let snapshot = self.pods.snapshot();
        let overview = Overview::of(&snapshot, &self.by_node, &self.session.options.selector);
        if self.shown.as_ref() == Some(&overview) {
            return Ok(());
        }
        let version = snapshot.resource_version();
        let version = version.map_or(String::new(), |version| format!(" at version {version}"));
        let screen = &mut self.session.screen;
        screen.line("")?;
        let heading = screen.paint(Tone::Heading, &format!("The cache{version}"));
        screen.line(&heading)?;
        for (number, line) in overview.table().iter().enumerate() {
            let line = format!("  {line}");
            let line = match number {
                0 => screen.paint(Tone::Quiet, &line),
                _ => line,
            };
            screen.line(&line)?;
        }
        let label = screen.paint(Tone::Quiet, "pods per node:");
        screen.line(&format!("  {label} {}", overview.nodes()))?;
        screen.line("")?;
        self.shown = Some(overview);
        Ok(())
    }

    fn draw_footer(&mut self) -> Result<(), Failure> {
        let status = self.informer.status();
        // Errors are told in a line of their own: they are too long for this one.
        let (tone, state) = match &status.state {
            State::Live => (Tone::Good, "live".to_owned()),
            State::Stalled => (Tone::Bad, "stalled".to_owned()),
            State::BackingOff { retry_in, .. } => (Tone::Bad, format!("trying again in {retry_in:.1?}")),
            State::Forbidden { .. } => (Tone::Bad, "forbidden".to_owned()),
            State::NotFound { .. } => (Tone::Bad, "not found".to_owned()),
            other => (Tone::Change, other.to_string()),
        };
        let state = self.session.screen.paint(tone, &state);
        let heard = self.heard;
        let events = heard.initial + heard.added + heard.updated + heard.deleted;
        let text = format!(
            "{state} | {:.0}s | {} pods | {events} events | Ctrl-C ends",
            self.started.elapsed().as_secs_f32(),
            status.objects,
        );
        Ok(self.session.screen.footer(&text)?)
    }
}

/// How far the first list is, as a bar where the server says how many objects there are.
fn progress(state: &State) -> String {
    const WIDTH: u64 = 30;
    match state {
        State::Listing {
            received,
            expected: Some(expected),
        } if *expected > 0 => {
            let done = (received.saturating_mul(WIDTH) / expected).min(WIDTH);
            let (done, left) = ("#".repeat(done as usize), ".".repeat((WIDTH - done) as usize));
            format!("Listing pods [{done}{left}] {received} of {expected}")
        }
        State::Listing { received: 0, .. } | State::NotStarted => {
            "Listing pods, waiting for the server".to_owned()
        }
        State::Listing { received, .. } => format!("Listing pods, {received} so far"),
        State::Live => "Listing pods, all received".to_owned(),
        trouble => format!("Listing pods: {trouble}"),
    }
}

/// What the one informer was doing when the wait for it was given up.
fn cache_state(error: &SyncError) -> Option<&State> {
    match &error.unsynced.first()?.waiting_for {
        WaitingFor::Cache(state) => Some(state),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(received: u64, expected: Option<u64>, text: &str) {
        assert_eq!(progress(&State::Listing { received, expected }), text);
    }

    #[test]
    fn progress_is_a_bar_where_the_server_says_how_many() {
        check(0, None, "Listing pods, waiting for the server");
        check(7, None, "Listing pods, 7 so far");
        check(
            10,
            Some(20),
            "Listing pods [###############...............] 10 of 20",
        );
        check(
            30,
            Some(20),
            "Listing pods [##############################] 30 of 20",
        );
        check(0, Some(0), "Listing pods, waiting for the server");
    }
}
