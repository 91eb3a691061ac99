//! Lists and watch events of Pods in both formats.

use serde_json::{Value, json};

use crate::template::{PodSize, Template};

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Protobuf,
}

/// Writes in one format.
pub(super) struct Wire {
    format: Format,
    template: Template,
}

const MAGIC: &[u8] = b"k8s\0";
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl Wire {
    pub(super) fn new(format: Format, pod: PodSize) -> Self {
        let template = match format {
            Format::Json => Template::json(pod),
            Format::Protobuf => Template::protobuf(pod),
        };
        Self { format, template }
    }

    pub(super) fn list_type(&self) -> &'static str {
        match self.format {
            Format::Json => "application/json",
            Format::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    pub(super) fn watch_type(&self) -> &'static str {
        match self.format {
            Format::Json => "application/json",
            Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    pub(super) fn begin_list(&self, items: usize, version: u64, output: &mut Vec<u8>) {
        match self.format {
            Format::Json => {
                let metadata = json!({"resourceVersion": version.to_string()});
                let head = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":["#);
                output.extend_from_slice(head.as_bytes());
            }
            Format::Protobuf => {
                let metadata = field(1, &field(2, version.to_string().as_bytes()));
                let item = head(2, self.template.size()).len() + self.template.size();
                output.extend_from_slice(MAGIC);
                output.extend(field(1, &types("PodList")));
                output.extend(head(2, metadata.len() + items * item));
                output.extend(metadata);
            }
        }
    }

    pub(super) fn item(&self, number: usize, version: u64, output: &mut Vec<u8>) {
        match self.format {
            Format::Json if output.last() == Some(&b'[') => {}
            // The first item follows the bracket in the same chunk, because both are small.
            Format::Json => output.push(b','),
            Format::Protobuf => output.extend(head(2, self.template.size())),
        }
        self.template.write(number, version, output);
    }

    pub(super) fn end_list(&self, output: &mut Vec<u8>) {
        match self.format {
            Format::Json => output.extend_from_slice(b"]}\n"),
            Format::Protobuf => {}
        }
    }

    pub(super) fn event(&self, change: &str, number: usize, version: u64, output: &mut Vec<u8>) {
        match self.format {
            Format::Json => {
                output.extend_from_slice(format!(r#"{{"type":"{change}","object":"#).as_bytes());
                self.template.write(number, version, output);
                output.extend_from_slice(b"}\n");
            }
            Format::Protobuf => {
                let mut pod = Vec::with_capacity(self.template.size());
                self.template.write(number, version, &mut pod);
                frame(change, "Pod", &pod, output);
            }
        }
    }

    /// The bookmark after the initial events.
    pub(super) fn initial_events_end(&self, version: u64, output: &mut Vec<u8>) {
        match self.format {
            Format::Json => {
                let annotations = json!({INITIAL_EVENTS_END: "true"});
                let metadata = json!({"resourceVersion": version.to_string(), "annotations": annotations});
                let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata,
                    "spec": {"containers": null}, "status": {}});
                line(&json!({"type": "BOOKMARK", "object": pod}), output);
            }
            Format::Protobuf => {
                let annotation = [field(1, INITIAL_EVENTS_END.as_bytes()), field(2, b"true")].concat();
                let version = field(6, version.to_string().as_bytes());
                let pod = field(1, &[version, field(12, &annotation)].concat());
                frame("BOOKMARK", "Pod", &pod, output);
            }
        }
    }

    /// The error after which a client relists.
    pub(super) fn expired(&self, output: &mut Vec<u8>) {
        let (message, reason, code) = ("too old resource version", "Expired", 410);
        match self.format {
            Format::Json => {
                let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
                    "status": "Failure", "message": message, "reason": reason, "code": code});
                line(&json!({"type": "ERROR", "object": status}), output);
            }
            Format::Protobuf => {
                let status = [
                    field(1, b""),
                    field(2, b"Failure"),
                    field(3, message.as_bytes()),
                    field(4, reason.as_bytes()),
                    varint(6 << 3),
                    varint(code),
                ];
                frame("ERROR", "Status", &status.concat(), output);
            }
        }
    }
}

/// A watch event in JSON.
fn line(event: &Value, output: &mut Vec<u8>) {
    output.extend_from_slice(event.to_string().as_bytes());
    output.push(b'\n');
}

/// A watch event in protobuf with its length before it.
fn frame(change: &str, kind: &str, object: &[u8], output: &mut Vec<u8>) {
    let object = [MAGIC, &field(1, &types(kind)), &field(2, object)].concat();
    let event = [field(1, change.as_bytes()), field(2, &field(1, &object))].concat();
    // A Pod has some kilobytes.
    output.extend((event.len() as u32).to_be_bytes());
    output.extend(event);
}

fn types(kind: &str) -> Vec<u8> {
    [field(1, b"v1"), field(2, kind.as_bytes())].concat()
}

fn field(number: u64, value: &[u8]) -> Vec<u8> {
    [&head(number, value.len()), value].concat()
}

/// What comes before the bytes of a field: its number and length.
fn head(number: u64, length: usize) -> Vec<u8> {
    [varint(number << 3 | 2), varint(length as u64)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
