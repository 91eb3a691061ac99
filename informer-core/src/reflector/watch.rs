//! Follows a watch: queues every change until the watch ends.

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::list::check_version;
use super::look::Look;
use super::pulse::Pulse;
use super::state::{EndReason, Next, WatchEnd};
use super::{Reflector, Step};
use crate::delta::Closed;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{ObjectChange, SourceError, WatchEvent, WatchFrom, WatchRequest, WatchStream};
use crate::status::EventKind;

/// Whether the watch continues after an event.
enum Flow {
    /// The event was queued at this time.
    Continue(Instant),
    End(EndReason),
}

/// Whether the events of a watch are ordered by version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    ByVersion,
    /// Not yet: a watch from "0" begins with the present state, as additions in no order (upstream's rule
    /// R16).
    SyntheticAdditions,
}

impl Order {
    fn of_watch_after(version: &ResourceVersion) -> Self {
        if *version == ResourceVersion::new("0") {
            Self::SyntheticAdditions
        } else {
            Self::ByVersion
        }
    }
}

impl<K: Object> Reflector<K> {
    pub(super) async fn watch(&mut self, from: ResourceVersion) -> Step {
        let request = WatchRequest {
            from: WatchFrom::After(from.clone()),
            timeout: self.watch_timeout(),
            answer_within: self.memory.answer_within(),
        };
        let deadline = self.watch_deadline(request.timeout);
        match self.source.watch(request).await {
            Ok(stream) => {
                self.memory.answered();
                self.follow(stream, from, deadline).await
            }
            Err(error) => Ok(self.watch_ended(from, WatchEnd::unopened(error))),
        }
    }

    /// Applies events until the stream ends, exceeds its deadline or misses its bookmarks.
    pub(super) async fn follow(
        &mut self,
        mut stream: WatchStream<K>,
        from: ResourceVersion,
        deadline: Instant,
    ) -> Step {
        self.reporter.opened();
        let mut order = Order::of_watch_after(&from);
        let opened = Instant::now();
        let mut pulse = Pulse::new(opened);
        let mut look = Look::of_current_runtime();
        let mut events = 0;
        let confirm_by = opened.checked_add(self.confirm_within).unwrap_or(deadline);
        let reason = loop {
            let silence = pulse.deadline().unwrap_or(deadline);
            let until = match self.memory.is_unconfirmed() {
                true => confirm_by.min(silence).min(deadline),
                false => silence.min(deadline),
            };
            // Not every time, so that a request to relist is noticed however fast events come.
            let found = match events % 64 {
                63 => None,
                _ => look.next(&mut stream).await,
            };
            let next = match found {
                Some(next) => Ok(next),
                None => tokio::select! {
                    biased;
                    () = self.relist.received() => break EndReason::Doubted,
                    next = timeout_at(until, stream.next()) => next,
                },
            };
            match next {
                Ok(Some(Ok(event))) => {
                    events += 1;
                    look.event_came();
                    if !matches!(event, WatchEvent::Added(_)) {
                        order = Order::ByVersion;
                    }
                    let is_bookmark = matches!(event, WatchEvent::Bookmark { .. });
                    let is_unknown = matches!(event, WatchEvent::Unknown);
                    let applied = match self.apply(event, order).await? {
                        Flow::Continue(applied) => applied,
                        Flow::End(reason) => break reason,
                    };
                    if self.memory.is_unconfirmed() && !is_unknown {
                        self.confirm().await?;
                    }
                    // Not the time at which it came: to wait for a full queue is not silence of the server.
                    match is_bookmark {
                        true => pulse.bookmark(applied),
                        false => pulse.event(applied),
                    }
                }
                Ok(Some(Err(error))) => break EndReason::Failed(error),
                Ok(None) => break EndReason::Closed,
                Err(_) if self.memory.is_unconfirmed() => break EndReason::Unconfirmed,
                Err(_) => {
                    let silent_for = pulse.silent_for(Instant::now());
                    break EndReason::Overdue { silent_for };
                }
            }
        };
        let end = WatchEnd {
            reason,
            lived: opened.elapsed(),
            events,
        };
        Ok(self.watch_ended(from, end))
    }

    fn watch_ended(&mut self, from: ResourceVersion, end: WatchEnd) -> Next {
        self.backoff.saw(end.health());
        if end.is_orderly() {
            self.reporter.closed();
        }
        self.memory.advance(Instant::now());
        self.memory.after_watch(from, end)
    }

    /// Queues one event, waiting while the queue is full, and then counts its version as seen. In this order:
    /// a reflector that is dropped in between receives the event again.
    async fn apply(&mut self, event: WatchEvent<K>, order: Order) -> Result<Flow, Closed> {
        if let WatchEvent::Added(object) | WatchEvent::Modified(object) = &event
            && let Err(error) = self.check_change(object)
        {
            return Ok(Flow::End(EndReason::Failed(error)));
        }
        let kind = EventKind::of(&event);
        let version = match event {
            WatchEvent::Added(object) => self.queue.added(object).await?,
            WatchEvent::Modified(object) => self.queue.updated(object).await?,
            WatchEvent::Deleted(object) => self.queue.deleted(object).await?,
            WatchEvent::Bookmark { version, .. } => {
                if let Some(version) = &version {
                    if let Err(error) = check_version(version) {
                        return Ok(Flow::End(EndReason::Failed(error)));
                    }
                    if order == Order::ByVersion
                        && self.memory.last().is_some_and(|last| version.is_older_than(last))
                    {
                        return Ok(Flow::End(EndReason::WentBack));
                    }
                    self.queue.bookmark(version.clone()).await?;
                }
                version
            }
            WatchEvent::Undecodable { change, object } => {
                self.reporter.undecodable(&object);
                if object.key.is_none() && change == ObjectChange::Deleted {
                    return Ok(Flow::End(EndReason::UnreadableDelete));
                }
                if object.key.is_none() {
                    self.memory.missed_something();
                }
                let version = object.version.clone().filter(ResourceVersion::is_acceptable);
                self.queue.undecodable(change, object).await?;
                version
            }
            // Only an initial state has unchanged objects. The next watch, without one, decodes the object.
            WatchEvent::Unchanged(_) => {
                let reason = "a watch repeated an object of the initial state";
                return Ok(Flow::End(EndReason::Failed(SourceError::Protocol(
                    reason.to_owned(),
                ))));
            }
            WatchEvent::Unknown => None,
        };
        if let Some(version) = version.filter(|_| order == Order::ByVersion) {
            self.memory.observe(&version);
        }
        let now = Instant::now();
        self.reporter.event(kind, self.memory.position(), now);
        Ok(Flow::Continue(now))
    }
}
