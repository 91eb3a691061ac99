//! The language of the scenarios: one step per line, read into values.

use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::source::{BookmarkMark, ListEvent, ListMetadata, ObjectChange, ServerStatus, WatchEvent};
use k8s_openapi::api::core::v1::Pod;

use super::scripted::{expired, metadata, pod, refused, status, too_many, undecodable};

/// One line of a script.
pub(crate) struct Line<'a> {
    /// The namespace whose server the step is about, if the informer has several.
    pub(crate) scope: Option<&'a str>,
    pub(crate) step: Step<'a>,
    /// The line up to where an answer begins.
    head: String,
}

pub(crate) enum Step<'a> {
    /// A comment or an empty line.
    Nothing,
    /// How the informer is made.
    Informer(Settings),
    /// Something happens.
    Act(Action<'a>),
    /// Something is looked at, and compared.
    Look(Question<'a>),
}

#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) watch_list: bool,
    pub(crate) namespaces: Vec<String>,
    pub(crate) resync: Option<Duration>,
    pub(crate) page_size: Option<u32>,
    pub(crate) transform: TransformKind,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TransformKind {
    #[default]
    None,
    /// Counts its runs in a label of the object.
    Counting,
    /// Fails for every object named `poison`.
    Choking,
}

pub(crate) enum Action<'a> {
    List(ListMetadata, Vec<ListEvent<Pod>>),
    ListFails(Failure),
    Watch(Vec<WatchEvent<Pod>>),
    WatchFails(Failure),
    WatchEnds(Option<SourceError>),
    Handler(&'a str, HandlerKind),
    Remove(&'a str),
    Index(&'a str),
    Wait(Duration),
    Stop,
}

pub(crate) enum Failure {
    Error(SourceError),
    Panic,
}

pub(crate) enum HandlerKind {
    /// Reads its events when it is looked at.
    Stream {
        buffer: Option<usize>,
        resync: Option<Duration>,
    },
    /// Panics at every event.
    Panicking,
}

#[derive(Clone, Copy)]
pub(crate) enum Question<'a> {
    /// Events of a handler since the last check.
    Expect(&'a str),
    Store,
    Version,
    State,
    Synced,
    /// Requests to the server since the last check.
    Requests,
    /// Keys whose newest state could not be used.
    Stale,
    /// The values of a label index with the objects under each.
    Indexed(&'a str),
    /// Whether the cache holds everything up to a version.
    Reached(&'a str),
    /// One of the counts of `status()`.
    Count(&'a str),
    /// How many calls of a handler panicked.
    Panics(&'a str),
}

impl<'a> Line<'a> {
    pub(crate) fn parse(raw: &'a str) -> Result<Self, String> {
        let text = raw.trim();
        let (scope, text) = match text.split_once(": ") {
            Some((scope, rest)) if !scope.contains([' ', '#']) => (Some(scope), rest.trim_start()),
            _ => (None, text),
        };
        let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim_start();
        // A question may have an operand of its own before its answer.
        let (name, operand) = match verb.trim_end_matches(')').split_once('(') {
            Some((name, operand)) => (name, operand),
            None => (verb, ""),
        };
        let step = parse_step(name, operand, rest)?;
        let raw = raw.trim_end();
        let head = match rest {
            "" => format!("{raw:<11} "),
            rest => raw[..raw.len() - rest.len()].to_owned(),
        };
        Ok(Self { scope, step, head })
    }

    /// The line with another answer.
    pub(crate) fn with_answer(&self, answer: &str) -> String {
        format!("{}{answer}", self.head)
    }
}

fn parse_step<'a>(name: &str, operand: &'a str, rest: &'a str) -> Result<Step<'a>, String> {
    let need = |what: &str| match operand {
        "" => Err(format!("`{name}` needs {what} in parentheses")),
        operand => Ok(operand),
    };
    Ok(match name {
        _ if name.is_empty() || name.starts_with('#') => Step::Nothing,
        "informer" => Step::Informer(parse_settings(rest)?),
        "list" => parse_list(rest)?,
        "list-fails" => Step::Act(Action::ListFails(parse_failure(rest)?)),
        "watch" => Step::Act(Action::Watch(
            commas(rest).map(parse_event).collect::<Result<_, _>>()?,
        )),
        "watch-fails" => Step::Act(Action::WatchFails(parse_failure(rest)?)),
        "watch-end" => Step::Act(Action::WatchEnds(match rest {
            "closed" => None,
            other => Some(parse_error(other)?),
        })),
        "handler" => Step::Act(parse_handler(rest)?),
        "remove" => Step::Act(Action::Remove(rest)),
        "index" if operand.is_empty() => Step::Act(Action::Index(rest)),
        "wait" => Step::Act(Action::Wait(parse_time(rest)?)),
        "stop" => Step::Act(Action::Stop),
        "expect" if operand.is_empty() => Step::Look(Question::Expect("main")),
        "expect" => Step::Look(Question::Expect(operand)),
        "store" => Step::Look(Question::Store),
        "version" => Step::Look(Question::Version),
        "state" => Step::Look(Question::State),
        "synced" => Step::Look(Question::Synced),
        "requests" => Step::Look(Question::Requests),
        "stale" => Step::Look(Question::Stale),
        "index" => Step::Look(Question::Indexed(operand)),
        "reached" => Step::Look(Question::Reached(need("a version")?)),
        "count" => Step::Look(Question::Count(need("what to count")?)),
        "panics" => Step::Look(Question::Panics(need("a handler")?)),
        other => return Err(format!("there is no step `{other}`")),
    })
}

fn commas(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty())
}

fn parse_settings(text: &str) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for word in text.split_whitespace() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("watch-list", _) => settings.watch_list = true,
            ("namespaces", names) => settings.namespaces = commas(names).map(str::to_owned).collect(),
            ("resync", time) => settings.resync = Some(parse_time(time)?),
            ("page", size) => settings.page_size = Some(parse_number(size)?),
            ("transform", "counting") => settings.transform = TransformKind::Counting,
            ("transform", "choking") => settings.transform = TransformKind::Choking,
            _ => return Err(format!("there is no setting `{word}`")),
        }
    }
    Ok(settings)
}

/// `rv=5 [continue=token] [remaining=3] pod/a@1 bad/b@2 bad`.
fn parse_list<'a>(text: &str) -> Result<Step<'a>, String> {
    let mut page: Option<ListMetadata> = None;
    let mut items = Vec::new();
    for word in text.split_whitespace() {
        if let Some(version) = word.strip_prefix("rv=") {
            page = Some(metadata(version));
        } else if let (Some(token), Some(page)) = (word.strip_prefix("continue="), &mut page) {
            page.continue_token = Some(token.to_owned());
        } else if let (Some(count), Some(page)) = (word.strip_prefix("remaining="), &mut page) {
            page.remaining = Some(parse_number(count)?);
        } else if let Some(text) = word.strip_prefix("pod/") {
            items.push(ListEvent::Item(pod(text).into()));
        } else if let Some(text) = word.strip_prefix("bad/") {
            items.push(ListEvent::Undecodable(undecodable(Some(text))));
        } else if word == "bad" {
            items.push(ListEvent::Undecodable(undecodable(None)));
        } else {
            return Err(format!("a list cannot hold `{word}`"));
        }
    }
    let page = page.ok_or("a list needs its version: `rv=5`")?;
    Ok(Step::Act(Action::List(page, items)))
}

fn parse_event(text: &str) -> Result<WatchEvent<Pod>, String> {
    let (verb, object) = text.split_once(' ').unwrap_or((text, ""));
    let bookmark = |mark| WatchEvent::Bookmark {
        version: Some(object.into()),
        mark,
    };
    let bad = |change| WatchEvent::Undecodable {
        change,
        object: undecodable((!object.is_empty()).then_some(object)),
    };
    Ok(match verb {
        "add" => WatchEvent::Added(pod(object).into()),
        "modify" => WatchEvent::Modified(pod(object).into()),
        "delete" => WatchEvent::Deleted(pod(object).into()),
        "bookmark" => bookmark(BookmarkMark::Progress),
        "initial-end" => bookmark(BookmarkMark::InitialEventsEnd),
        "bad" => bad(ObjectChange::Upserted),
        "bad-delete" => bad(ObjectChange::Deleted),
        other => return Err(format!("there is no event `{other}`")),
    })
}

fn parse_failure(text: &str) -> Result<Failure, String> {
    Ok(match text {
        "panic" => Failure::Panic,
        other => Failure::Error(parse_error(other)?),
    })
}

/// `expired`, `too-large`, `refused`, `broken`, a code, or `429:7s` with a `Retry-After`.
fn parse_error(text: &str) -> Result<SourceError, String> {
    Ok(match text {
        "expired" => expired(),
        "refused" => refused(),
        "broken" => SourceError::Transport("the connection was reset".to_owned()),
        "too-large" => SourceError::Status {
            status: ServerStatus {
                code: 504,
                message: "Too large resource version".to_owned(),
                ..ServerStatus::default()
            },
        },
        other => match other.split_once(':') {
            Some(("429", time)) => too_many(Some(parse_time(time)?)),
            _ => status(parse_number(other)?, ""),
        },
    })
}

/// `name [buffer=2] [resync=30s]` or `name panics`.
fn parse_handler(text: &str) -> Result<Action<'_>, String> {
    let mut words = text.split_whitespace();
    let name = words.next().ok_or("a handler needs a name")?;
    let (mut buffer, mut resync) = (None, None);
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("panics", _) => return Ok(Action::Handler(name, HandlerKind::Panicking)),
            ("buffer", size) => buffer = Some(parse_number(size)?),
            ("resync", time) => resync = Some(parse_time(time)?),
            _ => return Err(format!("a handler cannot be `{word}`")),
        }
    }
    Ok(Action::Handler(name, HandlerKind::Stream { buffer, resync }))
}

fn parse_number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number here"))
}

/// `10m`, `30s`, `500ms`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = parse_number(&text[..text.len() - unit.len()])?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(60 * number)),
        _ => Err(format!("`{text}` is not a time: 10m, 30s, 500ms")),
    }
}
