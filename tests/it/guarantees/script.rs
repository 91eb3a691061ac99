//! A source that answers from a script: for servers that do what no server should.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use informer_core::ResourceVersion;
use informer_core::source::{
    BookmarkMark, ListEvent, ListMetadata, ListRequest, ListStream, ListWatch, SourceError, Undecodable,
    WatchEvent, WatchRequest, WatchStream,
};
use k8s_openapi::api::core::v1::ConfigMap;

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

/// Answers each request with the next line of the script; silent for ever when it is at its end.
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

    async fn next(&self) -> Answer {
        let next = self.0.lock().unwrap().pop_front();
        match next {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

impl ListWatch<ConfigMap> for Script {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, SourceError>> {
        Box::pin(async {
            match self.next().await {
                Answer::List(events) => Ok(stream::iter(events).map(Ok).boxed()),
                Answer::Refuse(error) => Err(error),
                Answer::Watch(..) => panic!("the script has a watch where a list was asked for"),
            }
        })
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, SourceError>> {
        Box::pin(async {
            match self.next().await {
                Answer::Watch(events, end) => {
                    let events = stream::iter(events).map(Ok);
                    Ok(match end {
                        End::Open => events.chain(stream::pending()).boxed(),
                        End::Closed => events.boxed(),
                        End::Failed(error) => events.chain(stream::iter([Err(error)])).boxed(),
                    })
                }
                Answer::Refuse(error) => Err(error),
                Answer::List(_) => panic!("the script has a list where a watch was asked for"),
            }
        })
    }

    fn resource(&self) -> &str {
        "configmaps"
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
    ListEvent::Item(object(name, version))
}

pub(crate) fn list_at(version: &str) -> ListEvent<ConfigMap> {
    ListEvent::Metadata(ListMetadata {
        resource_version: Some(version.into()),
        ..ListMetadata::default()
    })
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

/// An error of the server.
pub(crate) fn status(code: u16, reason: &str) -> SourceError {
    let status = informer_core::source::ServerStatus {
        code,
        reason: reason.into(),
        ..Default::default()
    };
    SourceError::Status { status }
}
