//! Answers in advance, one for each request: for servers that do what no server should.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::stream::{self, StreamExt};
use informer_core::ResourceVersion;
use informer_core::source::{BookmarkMark, ListEvent, SourceError, Undecodable, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;

use super::{Call, Source, metadata};
use crate::support::item;

/// The answer to one request, whatever the request is.
pub(crate) enum Answer {
    /// These events, then the end.
    Watch(Vec<WatchEvent<ConfigMap>>, End),
    /// A complete list of one page.
    List(Vec<ListEvent<ConfigMap>>),
    /// No answer but this error.
    Refuse(SourceError),
}

/// How a watch ends.
pub(crate) enum End {
    /// It never does.
    Open,
    /// In good order.
    Closed,
    /// With an error.
    Failed(SourceError),
}

/// Answers each request with the next line of the script; silent after its end.
#[derive(Clone)]
pub(crate) struct Script(Arc<Mutex<VecDeque<Answer>>>);

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self(Arc::new(Mutex::new(answers.into_iter().collect())))
    }

    /// The faults stop: the rest of the script begins with its next good answer.
    pub(crate) fn skip_refusals(&self) {
        let mut answers = self.0.lock().unwrap();
        while matches!(answers.front(), Some(Answer::Refuse(_))) {
            answers.pop_front();
        }
    }

    /// A source that answers from this script.
    pub(crate) fn source(&self) -> Source<ConfigMap> {
        let script = self.clone();
        Source::new("configmaps", move |call| {
            let next = script.0.lock().unwrap().pop_front();
            match (next, call) {
                // A call that is dropped stays without an answer.
                (None, _) => {}
                (Some(Answer::Refuse(error)), Call::List(call)) => call.fail(error),
                (Some(Answer::Refuse(error)), Call::Watch(call)) => call.fail(error),
                (Some(Answer::List(events)), Call::List(call)) => call.answer(stream::iter(events).map(Ok)),
                (Some(Answer::Watch(events, end)), Call::Watch(call)) => {
                    let events = stream::iter(events).map(Ok);
                    match end {
                        End::Open => call.answer(events.chain(stream::pending())),
                        End::Closed => call.answer(events),
                        End::Failed(error) => call.answer(events.chain(stream::iter([Err(error)]))),
                    }
                }
                (Some(_), call) => panic!("the script has no answer for this request: {call}"),
            }
        })
    }
}

/// The object of a name at a version, with a UID of its name.
pub(crate) fn object(name: &str, version: &str) -> Arc<ConfigMap> {
    let mut object = item(name, "0");
    object.metadata.resource_version = Some(version.into());
    object.metadata.uid = Some(format!("uid-{name}"));
    Arc::new(object)
}

pub(crate) fn listed(name: &str, version: &str) -> ListEvent<ConfigMap> {
    ListEvent::Item(object(name, version).into())
}

pub(crate) fn list_at(version: &str) -> ListEvent<ConfigMap> {
    ListEvent::Metadata(metadata(version))
}

pub(crate) fn initial_end(version: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Bookmark {
        version: Some(ResourceVersion::new(version)),
        mark: BookmarkMark::InitialEventsEnd,
    }
}

/// An object that could not be decoded; `None` if not even its name could be read.
pub(crate) fn garbled(name: Option<&str>, version: &str) -> Undecodable {
    Undecodable {
        key: name.map(|name| format!("default/{name}").parse().unwrap()),
        version: Some(version.into()),
        uid: None,
        reason: "field `data` has the wrong type".into(),
    }
}
