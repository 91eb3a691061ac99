//! A second wire format beside JSON, which the server chooses per response.

use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::TypeMeta;

use super::*;
use crate::source::format::{Format, Formats, ListEntry, Splitter, WatchFrame};
use crate::source::json::Json;

/// A toy format that shares nothing with JSON. A body is a sequence of records: one byte of length, one byte
/// of type, then the text. The text of an object is its name, or `!` and its name if it cannot be decoded.
struct Toy;

const MEDIA_TYPE: &str = "application/x-toy";

fn record(kind: u8, text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap(), kind], text.as_bytes()].concat()
}

fn decode(name: &[u8]) -> Result<SourceObject<ConfigMap>, Undecodable> {
    let text = String::from_utf8(name.to_vec()).unwrap();
    match text.strip_prefix('!') {
        Some(name) => Err(Undecodable {
            key: Some(ObjectKey::cluster(name)),
            version: None,
            uid: None,
            reason: "it begins with `!`".to_owned(),
        }),
        None => Ok(Arc::new(ConfigMap {
            metadata: ObjectMeta {
                name: Some(text),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        })
        .into()),
    }
}

impl Format<ConfigMap> for Toy {
    fn media_type(&self) -> &'static str {
        MEDIA_TYPE
    }

    fn split_watch(&self, _: usize) -> Box<dyn Splitter<Output = WatchFrame>> {
        Box::new(ToyWatch(Records::default()))
    }

    fn split_list(&self, _: usize) -> Box<dyn Splitter<Output = ListEntry>> {
        Box::new(ToyList(Records::default()))
    }

    fn decode_event(&self, frame: &[u8]) -> Result<WatchEvent<ConfigMap>, SourceError> {
        Ok(match (frame[0], decode(&frame[1..])) {
            (b'A', Ok(object)) => WatchEvent::Added(object),
            (b'D', Ok(object)) => WatchEvent::Deleted(object),
            (_, Ok(_)) => WatchEvent::Unknown,
            (_, Err(object)) => WatchEvent::Undecodable {
                change: ObjectChange::Upserted,
                object,
            },
        })
    }

    fn oversized_event(&self, _: &[u8], _: String) -> Result<WatchEvent<ConfigMap>, SourceError> {
        unreachable!("this format has no limit")
    }

    fn decode_item(&self, item: &[u8], _: Option<&TypeMeta>) -> Result<SourceObject<ConfigMap>, Undecodable> {
        decode(item)
    }

    fn identify(&self, item: &[u8]) -> Identity {
        Identity {
            key: Some(ObjectKey::cluster(std::str::from_utf8(item).unwrap())),
            ..Identity::default()
        }
    }

    fn identify_addition(&self, _: &[u8]) -> Option<Identity> {
        None
    }

    fn parse_status(&self, body: &[u8]) -> Option<ServerStatus> {
        Some(ServerStatus {
            reason: String::from_utf8(body.to_vec()).unwrap(),
            ..ServerStatus::default()
        })
    }
}

#[derive(Default)]
struct Records(Vec<u8>);

impl Splitter for Records {
    type Output = Bytes;

    fn feed(&mut self, chunk: Bytes) {
        self.0.extend_from_slice(&chunk);
    }

    fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        let end = match self.0.first() {
            Some(length) if self.0.len() >= usize::from(*length) + 2 => usize::from(*length) + 2,
            _ => return Ok(None),
        };
        let record: Vec<u8> = self.0.drain(..end).skip(1).collect();
        Ok(Some(record.into()))
    }

    fn finish(&self) -> Result<(), SourceError> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(SourceError::Transport("a record is incomplete".to_owned())),
        }
    }
}

struct ToyWatch(Records);

impl Splitter for ToyWatch {
    type Output = WatchFrame;

    fn feed(&mut self, chunk: Bytes) {
        self.0.feed(chunk);
    }

    fn next(&mut self) -> Result<Option<WatchFrame>, SourceError> {
        Ok(self.0.next()?.map(WatchFrame::Whole))
    }

    fn finish(&self) -> Result<(), SourceError> {
        self.0.finish()
    }
}

struct ToyList(Records);

impl Splitter for ToyList {
    type Output = ListEntry;

    fn feed(&mut self, chunk: Bytes) {
        self.0.feed(chunk);
    }

    fn next(&mut self) -> Result<Option<ListEntry>, SourceError> {
        let Some(record) = self.0.next()? else {
            return Ok(None);
        };
        Ok(Some(match record[0] {
            b'V' => ListEntry::Metadata(ListMetadata {
                resource_version: Some(std::str::from_utf8(&record[1..]).unwrap().into()),
                ..ListMetadata::default()
            }),
            _ => ListEntry::Item(record.slice(1..)),
        }))
    }

    fn finish(&self) -> Result<(), SourceError> {
        self.0.finish()
    }
}

/// A source that prefers the toy format and also accepts JSON. The server sends `text` as `content_type`.
fn toy_source(status: u16, content_type: &'static str, text: Vec<u8>) -> KubeSource<ConfigMap> {
    let answer = move |request: Request<Body>| {
        let accept = request.headers()[ACCEPT].to_str().unwrap();
        assert!(accept.ends_with("application/x-toy,application/json"), "{accept}");
        Response::builder()
            .status(status)
            .header(CONTENT_TYPE, content_type)
            .body(body(chunks(&text, 3)))
            .unwrap()
    };
    let json = JsonDecoder::of::<ConfigMap>(&(), ManagedFields::Drop);
    let mut formats = Formats::only(Arc::new(Json::new(Arc::new(json))));
    formats.prefer(Arc::new(Toy));
    KubeSource::with_formats(client(answer), &(), Scope::All, inline(), formats).unwrap()
}

fn toy_list() -> Vec<u8> {
    [record(b'V', "17"), record(b'I', "a"), record(b'I', "!b")].concat()
}

#[tokio::test]
async fn a_list_is_read_in_the_format_of_its_response() {
    let expected = ["metadata 17 None None", "item a", r#"undecodable Some("b")"#];
    let lines = list_lines(&toy_source(200, MEDIA_TYPE, toy_list())).await;
    assert_eq!(lines, expected);

    let json = br#"{"metadata":{"resourceVersion":"17"},"items":[{"metadata":{"name":"a"}}]}"#;
    for content_type in ["application/json", "text/plain"] {
        let lines = list_lines(&toy_source(200, content_type, json.to_vec())).await;
        assert_eq!(lines, expected[..2], "{content_type}");
    }
}

#[tokio::test]
async fn a_watch_is_read_in_the_format_of_its_response() {
    let text = [record(b'A', "a"), record(b'A', "!b"), record(b'D', "a")].concat();
    let lines = watch_lines(&toy_source(200, "application/x-toy;stream=watch", text)).await;
    assert_eq!(
        lines,
        ["added a", r#"undecodable Upserted Some("b")"#, "deleted a"]
    );

    let json = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n".to_vec();
    let lines = watch_lines(&toy_source(200, "Application/JSON", json)).await;
    assert_eq!(lines, ["added a"]);
}

#[tokio::test]
async fn limits_and_errors_are_the_same_in_every_format() {
    let truncated = toy_list()[..5].to_vec();
    let lines = list_lines(&toy_source(200, MEDIA_TYPE, truncated)).await;
    assert!(lines.last().unwrap().contains("incomplete"), "{lines:?}");

    let lines = list_lines(&toy_source(200, MEDIA_TYPE, record(b'V', "0"))).await;
    assert!(lines[0].contains("resourceVersion 0"), "{lines:?}");

    let lines = list_lines(&toy_source(403, MEDIA_TYPE, b"Forbidden".to_vec())).await;
    assert!(
        lines[0].starts_with("refused: the server answered 403 Forbidden; "),
        "{lines:?}"
    );
}

#[tokio::test]
async fn identities_are_read_without_decoding_the_objects() {
    let source = toy_source(200, MEDIA_TYPE, toy_list());
    let events: Vec<_> = source
        .list_identities(whole_list())
        .await
        .unwrap()
        .collect()
        .await;
    let keys: Vec<String> = events
        .into_iter()
        .filter_map(|event| match event.unwrap() {
            IdentityEvent::Object(identity) => identity.key.map(|key| key.to_string()),
            IdentityEvent::Metadata(_) => None,
        })
        .collect();
    assert_eq!(keys, ["a", "!b"]);
}
