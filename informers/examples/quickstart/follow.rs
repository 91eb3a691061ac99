//! The informer at work: its first list, then every change, and the cache every few seconds.

use std::io::Write;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures::StreamExt as _;
use informers::{Event, EventStream, Index, Lister, Origin, SharedInformer, State};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::{Instant, interval, interval_at, sleep_until};

use super::overview::Overview;
use super::patience::{Patience, Verdict};
use super::pod;
use super::screen::{Screen, Tone};
use super::{Failure, internal};

/// How often the cache is shown, if it looks different from the last time.
const OVERVIEW_EVERY: Duration = Duration::from_secs(5);
/// How often the last line of a terminal is drawn anew.
const FOOTER_EVERY: Duration = Duration::from_millis(200);
/// How often a pipe hears of a list that is still going on.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// How many of the pods that were there from the start are told of.
const MOST_INITIAL: usize = 8;

/// Shows what one informer does.
pub(crate) struct Follower<'a, W> {
    pub(crate) informer: &'a SharedInformer<Pod>,
    pub(crate) by_node: Index<Pod, String>,
    pub(crate) screen: Screen<W>,
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

/// Why following ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Interrupted,
    TimeIsUp,
    InformerStopped,
}

/// How the wait for the first list ended.
enum First {
    Complete,
    Ended(Ending),
    GivenUp(Option<State>),
}

impl<'a, W: Write> Follower<'a, W> {
    pub(crate) fn new(
        informer: &'a SharedInformer<Pod>,
        by_node: Index<Pod, String>,
        screen: Screen<W>,
    ) -> Self {
        Self {
            informer,
            by_node,
            screen,
            started: Instant::now(),
            heard: Heard::default(),
            trouble: Trouble::None,
            shown: None,
        }
    }

    /// Starts the informer and follows it until the time is up or Ctrl-C. The inner error is the trouble because of which there
    /// was no first list; `None` if the server never answered.
    pub(crate) async fn follow(
        &mut self,
        duration: Option<Duration>,
    ) -> Result<Result<Ending, Option<State>>, Failure> {
        let mut interrupted = pin!(interrupted());
        // Made before the start, so that what the first list brings comes as initial additions.
        let mut events = self.informer.events();
        self.informer.start().map_err(internal)?;
        let first = self.sync(interrupted.as_mut()).await;
        self.screen.footer("")?;
        match first? {
            First::Complete => {}
            First::Ended(ending) => return Ok(Ok(ending)),
            First::GivenUp(trouble) => return Ok(Err(trouble)),
        }
        let end = duration.map(|duration| Instant::now() + duration);
        if let Some(ending) = self.tell_initial(&mut events, interrupted.as_mut()).await? {
            return Ok(Ok(ending));
        }
        self.show_overview()?;
        let ending = self.tell(&mut events, end, interrupted).await;
        self.screen.footer("")?;
        ending.map(Ok)
    }

    /// Waits for the first list and shows how far it is.
    async fn sync(&mut self, mut interrupted: Pin<&mut impl Future<Output = ()>>) -> Result<First, Failure> {
        let mut patience = Patience::new(Instant::now());
        let mut tick = interval(Duration::from_millis(100));
        let mut next_line = Instant::now() + PROGRESS_EVERY;
        while !self.informer.has_synced() {
            tokio::select! {
                synced = self.informer.synced() => {
                    if synced.is_err() {
                        return Ok(First::Ended(Ending::InformerStopped));
                    }
                }
                () = interrupted.as_mut() => return Ok(First::Ended(Ending::Interrupted)),
                now = tick.tick() => {
                    let state = self.informer.status().state;
                    if let Verdict::GiveUp(trouble) = patience.judge(&state, now) {
                        return Ok(First::GivenUp(trouble));
                    }
                    let progress = progress(&state);
                    if !self.screen.has_footer() && now >= next_line {
                        self.screen.line(&progress)?;
                        next_line = now + PROGRESS_EVERY;
                    }
                    self.screen.footer(&progress)?;
                }
            }
        }
        self.screen.footer("")?;
        let pods = self.informer.indexer().len();
        let time = self.started.elapsed();
        self.screen
            .line(&format!("In sync after {time:.1?}: {pods} pods in the cache."))?;
        self.screen.line("")?;
        Ok(First::Complete)
    }

    /// Tells what was there from the start, however short the time is.
    async fn tell_initial(
        &mut self,
        events: &mut EventStream<Pod>,
        mut interrupted: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Option<Ending>, Failure> {
        let registration = events.registration().clone();
        let mut all_told = pin!(registration.synced());
        loop {
            tokio::select! {
                biased;
                () = interrupted.as_mut() => return Ok(Some(Ending::Interrupted)),
                _ = all_told.as_mut() => return Ok(None),
                event = events.next() => match event {
                    Some(event) => self.tell_event(&event)?,
                    None => return Ok(Some(Ending::InformerStopped)),
                },
            }
        }
    }

    /// Tells every event as it comes.
    async fn tell(
        &mut self,
        events: &mut EventStream<Pod>,
        end: Option<Instant>,
        mut interrupted: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Ending, Failure> {
        let mut states = self.informer.status_changes();
        let mut overview = interval_at(Instant::now() + OVERVIEW_EVERY, OVERVIEW_EVERY);
        let mut footer = interval(FOOTER_EVERY);
        loop {
            // In this order a stream that never pauses cannot keep the program from ending.
            tokio::select! {
                biased;
                () = interrupted.as_mut() => return Ok(Ending::Interrupted),
                () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => return Ok(Ending::TimeIsUp),
                _ = overview.tick() => self.show_overview()?,
                _ = footer.tick(), if self.screen.has_footer() => self.draw_footer()?,
                true = states.changed() => self.tell_state()?,
                event = events.next() => match event {
                    Some(event) => self.tell_event(&event)?,
                    None => return Ok(Ending::InformerStopped),
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
            let more = self.informer.indexer().len().saturating_sub(MOST_INITIAL);
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
        let time = self.screen.paint(Tone::Quiet, &time);
        let verb = self.screen.paint(tone, &format!("{verb:<8}"));
        Ok(self.screen.line(&format!("{time}  {verb} {name:<38} {detail}"))?)
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
        let snapshot = Lister::new(self.informer.indexer()).snapshot();
        let overview = Overview::of(&snapshot, &self.by_node);
        if self.shown.as_ref() == Some(&overview) {
            return Ok(());
        }
        let version = snapshot.resource_version();
        let version = version.map_or(String::new(), |version| format!(" at version {version}"));
        self.screen.line("")?;
        let heading = self.screen.paint(Tone::Heading, &format!("The cache{version}"));
        self.screen.line(&heading)?;
        for (number, line) in overview.table().iter().enumerate() {
            let line = format!("  {line}");
            let line = match number {
                0 => self.screen.paint(Tone::Quiet, &line),
                _ => line,
            };
            self.screen.line(&line)?;
        }
        self.screen.line(&format!(
            "  {} {}",
            self.screen.paint(Tone::Quiet, "pods per node:"),
            overview.nodes()
        ))?;
        self.shown = Some(overview);
        Ok(self.screen.line("")?)
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
        let state = self.screen.paint(tone, &state);
        let heard = self.heard;
        let events = heard.initial + heard.added + heard.updated + heard.deleted;
        let text = format!(
            "{state} | {:.0}s | {} pods | {events} events | Ctrl-C ends",
            self.started.elapsed().as_secs_f32(),
            status.objects,
        );
        Ok(self.screen.footer(&text)?)
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

/// Waits for Ctrl-C; for ever where that cannot be listened for.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
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
