//! Following a watch: every change into the queue, until the watch ends.

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::state::{EndReason, WatchEnd};
use super::{Reflector, Step};
use crate::delta::Closed;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{ObjectChange, WatchEvent, WatchFrom, WatchRequest, WatchStream};

/// What one event means for the watch.
enum Flow {
    Continue,
    End(EndReason),
}

/// Whether the events of a watch come in the order of their versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    ByVersion,
    /// Not yet: a watch from "0" opens with the state, as additions in no order (upstream's rule R16).
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
        };
        let deadline = self.watch_deadline(request.timeout);
        match self.source.watch(request).await {
            Ok(stream) => self.follow(stream, from, deadline).await,
            Err(error) => {
                let end = WatchEnd {
                    reason: EndReason::Failed(error),
                    lived: Default::default(),
                    events: 0,
                };
                Ok(self.memory.after_watch(from, end))
            }
        }
    }

    /// Applies events until the stream ends or is silent past its deadline.
    pub(super) async fn follow(
        &mut self,
        mut stream: WatchStream<K>,
        from: ResourceVersion,
        deadline: Instant,
    ) -> Step {
        self.reporter.live();
        let mut order = Order::of_watch_after(&from);
        let opened = Instant::now();
        let mut events = 0;
        let reason = loop {
            let next = tokio::select! {
                biased;
                () = self.relist.asked() => break EndReason::Doubted,
                next = timeout_at(deadline, stream.next()) => next,
            };
            match next {
                Ok(Some(Ok(event))) => {
                    events += 1;
                    if !matches!(event, WatchEvent::Added(_)) {
                        order = Order::ByVersion;
                    }
                    if let Flow::End(reason) = self.apply(event, order).await? {
                        break reason;
                    }
                }
                Ok(Some(Err(error))) => break EndReason::Failed(error),
                Ok(None) => break EndReason::Closed,
                Err(_) => {
                    self.reporter.stalled();
                    break EndReason::Overdue;
                }
            }
        };
        let lived = opened.elapsed();
        // Silence is no sign of health.
        if !matches!(reason, EndReason::Overdue) || events > 0 {
            self.backoff.healthy_for(lived);
        }
        Ok(self.memory.after_watch(
            from,
            WatchEnd {
                reason,
                lived,
                events,
            },
        ))
    }

    /// Queues one event, waiting while the queue is full, and only then counts its version as seen.
    async fn apply(&mut self, event: WatchEvent<K>, order: Order) -> Result<Flow, Closed> {
        let version = match event {
            WatchEvent::Added(object) => {
                let version = ResourceVersion::of(object.meta());
                self.queue.added(object).await?;
                version
            }
            WatchEvent::Modified(object) => {
                let version = ResourceVersion::of(object.meta());
                self.queue.updated(object).await?;
                version
            }
            WatchEvent::Deleted(object) => {
                let version = ResourceVersion::of(object.meta());
                self.queue.deleted(object).await?;
                version
            }
            WatchEvent::Bookmark { version, .. } => {
                if let Some(version) = &version {
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
                let version = object.version.clone();
                self.queue.undecodable(change, object).await?;
                version
            }
            WatchEvent::Unknown => None,
        };
        let version = version.filter(|_| order == Order::ByVersion);
        self.reporter.event(version.as_ref());
        if let Some(version) = &version {
            self.memory.observe(version);
        }
        Ok(Flow::Continue)
    }
}
