//! Tables, as `kubectl get` prints them: name and age for every kind, and the phase if the kind has one.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::encode::{self, Typed};
use crate::object::{Stored, write};
use crate::registry::Resource;

/// The part of the object that is sent with each row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    pub(crate) fn read(parameter: Option<&str>) -> Self {
        match parameter {
            Some("None") => Self::None,
            Some("Object") => Self::Object,
            _ => Self::Metadata,
        }
    }
}

fn has_phase(resource: &Resource) -> bool {
    resource.selectable.iter().any(|path| path == "status.phase")
}

pub(crate) fn columns(resource: &Resource) -> Value {
    let column = |name: &str, format: &str, description: &str| {
        json!({
            "name": name, "type": "string", "format": format,
            "description": description, "priority": 0,
        })
    };
    let mut columns = vec![column("Name", "name", "The name of the object.")];
    if has_phase(resource) {
        columns.push(column("Status", "", "The phase of the object."));
    }
    columns.push(column("Age", "", "Time since the object was created."));
    columns.into()
}

/// Appends one row.
pub(crate) fn row(
    buffer: &mut Vec<u8>,
    resource: &Resource,
    stored: &Stored,
    include: IncludeObject,
    now: Timestamp,
) {
    let mut cells = vec![Value::from(stored.name.as_str())];
    if has_phase(resource) {
        let phase = stored.fields.iter().find(|(path, _)| path == "status.phase");
        cells.push(phase.map_or("", |(_, phase)| phase).into());
    }
    cells.push(age(stored, now).into());
    buffer.extend_from_slice(b"{\"cells\":");
    write(buffer, &cells.into());
    match include {
        IncludeObject::None => {}
        IncludeObject::Metadata => {
            buffer.extend_from_slice(b",\"object\":");
            encode::metadata(buffer, stored);
        }
        IncludeObject::Object => {
            buffer.extend_from_slice(b",\"object\":");
            encode::whole(buffer, resource, stored, Typed::Named);
        }
    }
    buffer.push(b'}');
}

/// Appends a table of one object.
pub(crate) fn single(
    buffer: &mut Vec<u8>,
    resource: &Resource,
    stored: &Stored,
    include: IncludeObject,
    now: Timestamp,
) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        #[serde(default)]
        resource_version: String,
    }
    let version = serde_json::from_slice::<Metadata>(stored.metadata()).map(|m| m.resource_version);
    buffer.extend_from_slice(
        br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"#,
    );
    write(buffer, &version.unwrap_or_default().into());
    buffer.extend_from_slice(b"},\"columnDefinitions\":");
    write(buffer, &columns(resource));
    buffer.extend_from_slice(b",\"rows\":[");
    row(buffer, resource, stored, include, now);
    buffer.extend_from_slice(b"]}");
}

fn age(stored: &Stored, now: Timestamp) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        creation_timestamp: Timestamp,
    }
    match serde_json::from_slice::<Metadata>(stored.metadata()) {
        Ok(metadata) => human(now.duration_since(metadata.creation_timestamp).as_secs()),
        Err(_) => "<unknown>".into(),
    }
}

/// Formats a duration as kubectl does: two units while the second one is significant.
fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match seconds {
        ..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 if seconds % 60 == 0 => format!("{minutes}m"),
        120..600 => format!("{minutes}m{}s", seconds % 60),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 if minutes % 60 == 0 => format!("{hours}h"),
        10_800..28_800 => format!("{hours}h{}m", minutes % 60),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 if hours % 24 == 0 => format!("{days}d"),
        172_800..691_200 => format!("{days}d{}h", hours % 24),
        691_200..63_072_000 => format!("{days}d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_written_as_kubectl_writes_them() {
        let cases = [
            (5, "5s"),
            (119, "119s"),
            (125, "2m5s"),
            (3600, "60m"),
            (12_000, "3h20m"),
            (90_000, "25h"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(seconds), expected);
        }
        assert_eq!(human(200_000), "2d7h");
    }
}
