//! The faults of one request, by the phase in which they apply.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Cut, Fault, FaultId, Garble};
use crate::error::ApiError;
use crate::log::Request;
use crate::watch::{EventType, Frame};

/// A fault and the rule it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) id: FaultId,
    pub(crate) fault: Fault,
}

/// All faults of one request, in the order of their rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) faults: Vec<Planned>,
}

impl Plan {
    fn find<T>(&self, pick: impl Fn(&Planned) -> Option<T>) -> Option<T> {
        self.faults.iter().find_map(pick)
    }

    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.faults.iter().any(|planned| planned.fault == *fault)
    }

    /// Returns the delay of the answer.
    pub(crate) fn delay(&self) -> Duration {
        let delays = self.faults.iter().filter_map(|planned| match planned.fault {
            Fault::Delay(delay) => Some(delay),
            _ => None,
        });
        delays.sum()
    }

    /// Returns the rule that blocks the request.
    pub(crate) fn hang(&self) -> Option<FaultId> {
        self.find(|planned| (planned.fault == Fault::Hang).then_some(planned.id))
    }

    /// Returns the error to answer with.
    pub(crate) fn refusal(&self, request: &Request) -> Option<ApiError> {
        self.find(|planned| match &planned.fault {
            Fault::Status(error) => Some(error.clone()),
            Fault::Forbidden => Some(forbidden(request)),
            _ => None,
        })
    }

    pub(crate) fn fragment(&self) -> Option<usize> {
        self.find(|planned| match planned.fault {
            Fault::Fragment(size) => Some(size.max(1)),
            _ => None,
        })
    }

    /// Returns the newest revision that the request sees.
    pub(crate) fn stale(&self) -> Option<(FaultId, u64)> {
        self.find(|planned| match planned.fault {
            Fault::Stale(revision) => Some((planned.id, revision)),
            _ => None,
        })
    }

    /// Returns after how many bytes the body breaks.
    pub(crate) fn cut_bytes(&self) -> Option<usize> {
        self.find(|planned| match planned.fault {
            Fault::Cut(Cut::Bytes(bytes)) => Some(bytes),
            _ => None,
        })
    }

    /// Returns after how many bytes a list ends without an error.
    pub(crate) fn truncate_bytes(&self) -> Option<usize> {
        self.find(|planned| match planned.fault {
            Fault::TruncateList { bytes } => Some(bytes),
            _ => None,
        })
    }

    /// The version that is sent instead of the right one.
    pub(crate) fn replaced_version(&self) -> Option<&str> {
        self.faults.iter().find_map(|planned| match &planned.fault {
            Fault::ReplaceVersion(version) => Some(version.as_str()),
            _ => None,
        })
    }

    /// Adds copies of the items of a list in another namespace.
    pub(crate) fn add_foreign(&self, items: &mut Vec<Vec<u8>>) {
        let copies: Vec<_> = items.iter().filter_map(|item| self.foreign(item)).collect();
        items.extend(copies);
    }

    /// Returns a copy of an object in another namespace, if one must be sent.
    pub(crate) fn foreign(&self, object: &[u8]) -> Option<Vec<u8>> {
        let namespace = self.find(|planned| match &planned.fault {
            Fault::Foreign { namespace } => Some(namespace.clone()),
            _ => None,
        })?;
        let mut value: Value = serde_json::from_slice(object).ok()?;
        let metadata = value.get_mut("metadata")?.as_object_mut()?;
        match namespace {
            Some(namespace) => metadata.insert("namespace".into(), namespace.into()),
            None => metadata.remove("namespace"),
        };
        Some(value.to_string().into_bytes())
    }

    /// Corrupts the items of a list.
    pub(crate) fn garble_items(&self, items: &mut [Vec<u8>]) {
        for planned in &self.faults {
            if let Fault::GarbleItem { index, garble } = planned.fault
                && let Some(item) = items.get_mut(index)
            {
                *item = garbled(item, garble);
            }
        }
    }

    /// Returns by how many revisions the initial events of a watch are old.
    pub(crate) fn changes_before_end(&self) -> Option<u64> {
        self.find(|planned| match planned.fault {
            Fault::ChangesBeforeEnd { revisions } => Some(revisions),
            _ => None,
        })
    }

    /// Returns the seed of the order of initial events.
    pub(crate) fn shuffle(&self) -> Option<u64> {
        self.find(|planned| match planned.fault {
            Fault::ShuffleInitial { seed } => Some(seed),
            _ => None,
        })
    }

    pub(crate) fn into_stream_faults(self) -> StreamFaults {
        StreamFaults {
            plan: self,
            opened: Instant::now(),
            sent: 0,
            objects: 0,
            by_type: [0; 3],
            struck: Vec::new(),
        }
    }

    /// Returns with how many older revisions a watch starts.
    pub(crate) fn repeat_events(&self) -> Option<u64> {
        self.find(|planned| match planned.fault {
            Fault::RepeatEvents { revisions } => Some(revisions),
            _ => None,
        })
    }
}

/// How a stream continues after enough events were sent.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Close,
    Break(Cut),
    Hold(FaultId),
    Error(ApiError),
}

/// How the next event is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Whole,
    Lost,
    /// Broken off within the event.
    Torn(Cut),
}

/// The faults of one open watch, and their counters.
#[derive(Debug)]
pub(crate) struct StreamFaults {
    pub(crate) plan: Plan,
    opened: Instant,
    sent: usize,
    /// Events of objects, including dropped ones.
    objects: usize,
    /// ADDED, MODIFIED and DELETED events.
    by_type: [usize; 3],
    /// The names of the faults applied since they were last taken.
    pub(crate) struck: Vec<String>,
}

impl StreamFaults {
    /// Returns how the stream ends now, if it does.
    pub(crate) fn due(&self) -> Option<Ending> {
        let sent = self.sent;
        self.plan.find(|planned| match &planned.fault {
            Fault::CloseWatch { after } if sent >= *after => Some(Ending::Close),
            Fault::HalfOpen { after } if sent >= *after => Some(Ending::Hold(planned.id)),
            Fault::ErrorEvent { after, error } if sent >= *after => Some(Ending::Error(error.clone())),
            Fault::Cut(cut @ Cut::Events(after)) if sent >= *after => Some(Ending::Break(*cut)),
            Fault::Cut(cut @ Cut::After(time)) if self.opened.elapsed() >= *time => Some(Ending::Break(*cut)),
            _ => None,
        })
    }

    /// Returns when the connection breaks, for faults that depend on time.
    pub(crate) fn breaks_at(&self) -> Option<Instant> {
        self.plan.find(|planned| match planned.fault {
            Fault::Cut(Cut::After(time)) => self.opened.checked_add(time),
            _ => None,
        })
    }

    /// Decides how the next event is sent, and corrupts it if a fault requires that.
    pub(crate) fn pass(&mut self, frame: &mut Frame) -> Passage {
        let torn = self.plan.find(|planned| match planned.fault {
            Fault::Cut(cut @ (Cut::MidObject(after) | Cut::MidCharacter(after) | Cut::MidMember(after))) => {
                (self.sent >= after).then_some(cut)
            }
            _ => None,
        });
        if let Some(cut) = torn {
            self.struck.push(Fault::Cut(cut).name());
            return Passage::Torn(cut);
        }
        let slot = match frame.kind {
            EventType::Added => 0,
            EventType::Modified => 1,
            EventType::Deleted => 2,
            EventType::Bookmark | EventType::Error => {
                self.sent += 1;
                return Passage::Whole;
            }
        };
        let (position, of_type) = (self.objects, self.by_type[slot]);
        self.objects += 1;
        self.by_type[slot] += 1;
        for planned in &self.plan.faults {
            match planned.fault {
                Fault::DropEvents { after, count }
                    if (after..after.saturating_add(count)).contains(&position) =>
                {
                    self.struck.push(planned.fault.name());
                    return Passage::Lost;
                }
                Fault::GarbleEvent { kind, index, garble } if kind == frame.kind && index == of_type => {
                    frame.object = garbled(&frame.object, garble);
                    self.struck.push(planned.fault.name());
                }
                _ => {}
            }
        }
        self.sent += 1;
        Passage::Whole
    }
}

/// Returns the corrupted object.
fn garbled(object: &[u8], garble: Garble) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(object).unwrap_or_default();
    match garble {
        Garble::Content => {
            // Labels that are not an object make every type undecodable and leave the key readable.
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("labels".into(), "garbled".into());
            }
        }
        Garble::Key => value["metadata"] = "garbled".into(),
        Garble::Null => value = Value::Null,
        Garble::Syntax => return b"{\"metadata\":garbled}".to_vec(),
    }
    value.to_string().into_bytes()
}

fn forbidden(request: &Request) -> ApiError {
    let (resource, group) = (
        request.resource.as_deref().unwrap_or_default(),
        request.group.as_str(),
    );
    let place = match &request.namespace {
        Some(namespace) => format!("in the namespace {namespace:?}"),
        None => "at the cluster scope".to_owned(),
    };
    let verb = request.verb.as_str();
    let why = format!("User \"test\" cannot {verb} resource {resource:?} in API group {group:?} {place}");
    ApiError::forbidden(resource, group, request.name.as_deref().unwrap_or_default(), &why)
}

/// Returns the metadata of the bookmark that ends the initial events; `None` if a fault omits it.
pub(crate) fn end_bookmark(plan: &Plan, version: &str) -> Option<Value> {
    if plan.has(&Fault::OmitEndBookmark) {
        return None;
    }
    let version = plan.replaced_version().unwrap_or(version);
    let mut metadata = Map::new();
    if !plan.has(&Fault::OmitBookmarkVersion) {
        metadata.insert("resourceVersion".into(), version.into());
    }
    let value = if plan.has(&Fault::FalseEndBookmark) {
        "false"
    } else {
        "true"
    };
    if !plan.has(&Fault::PlainEndBookmark) {
        metadata.insert(
            "annotations".into(),
            json!({ "k8s.io/initial-events-end": value }),
        );
    }
    Some(metadata.into())
}

/// Returns the metadata of an ordinary bookmark; `None` if a fault omits it.
pub(crate) fn progress_bookmark(plan: &Plan, version: &str) -> Option<Value> {
    if plan.has(&Fault::OmitProgressBookmarks) {
        return None;
    }
    let version = plan.replaced_version().unwrap_or(version);
    Some(match plan.has(&Fault::OmitBookmarkVersion) {
        true => json!({}),
        false => json!({ "resourceVersion": version }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbled_content_keeps_the_key_and_a_garbled_key_does_not() {
        let object = br#"{"metadata":{"name":"a","namespace":"web"}}"#;
        let value = |garble| serde_json::from_slice::<Value>(&garbled(object, garble)).ok();
        let content = value(Garble::Content).unwrap();
        assert_eq!(
            (&content["metadata"]["name"], &content["metadata"]["labels"]),
            (&json!("a"), &json!("garbled"))
        );
        assert_eq!(value(Garble::Key), Some(json!({ "metadata": "garbled" })));
        assert_eq!(value(Garble::Null), Some(Value::Null));
        assert_eq!(value(Garble::Syntax), None);
    }
}
