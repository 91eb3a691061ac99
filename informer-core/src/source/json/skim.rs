//! Skims an object that is too large to be held: keeps only what identifies it.

use bytes::Bytes;

use super::scan::ValueScan;

/// The longest metadata that is kept.
const METADATA_BYTES: usize = 1024 * 1024;

/// The longest type of an event that is kept, and the longest key.
const TEXT_BYTES: usize = 1024;

/// Reads the bytes of one object, or of one frame of a watch, as they arrive, and keeps the `metadata` of the
/// object and the `type` of the frame.
///
/// Objects of custom resources have their keys in alphabetical order, so their metadata may come after the
/// large part.
pub(super) struct Skim {
    outermost: Level,
    level: Level,
    at: At,
    scan: ValueScan,
    key: Kept,
    change: Kept,
    metadata: Kept,
}

/// The object whose keys are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Frame,
    Object,
}

#[derive(Clone, Copy)]
enum At {
    Start,
    Key,
    Colon(Role),
    Value(Role),
    Within(Role),
    AfterValue,
    End,
    /// What follows is not valid JSON.
    Invalid,
}

#[derive(Clone, Copy)]
enum Role {
    KeyText,
    /// The `type` of a frame.
    Change,
    /// The `object` of a frame.
    Object,
    Metadata,
    Skipped,
}

/// A value, as far as it is kept.
#[derive(Default)]
enum Kept {
    #[default]
    Absent,
    Text(Vec<u8>),
    /// It is too long, or it occurred twice.
    Unusable,
}

impl Kept {
    fn begin(&mut self) {
        *self = match self {
            Self::Absent => Self::Text(Vec::new()),
            Self::Text(_) | Self::Unusable => Self::Unusable,
        };
    }

    fn extend(&mut self, bytes: &[u8], limit: usize) {
        if let Self::Text(text) = self {
            if text.len() + bytes.len() > limit {
                *self = Self::Unusable;
            } else {
                text.extend_from_slice(bytes);
            }
        }
    }

    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Unusable => None,
        }
    }
}

impl Skim {
    /// Skims an item of a list.
    pub(super) fn of_object() -> Self {
        Self::new(Level::Object)
    }

    /// Skims a frame of a watch.
    pub(super) fn of_frame() -> Self {
        Self::new(Level::Frame)
    }

    fn new(level: Level) -> Self {
        Self {
            outermost: level,
            level,
            at: At::Start,
            scan: ValueScan::default(),
            key: Kept::Absent,
            change: Kept::Absent,
            metadata: Kept::Absent,
        }
    }

    /// Reads the next bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            if let At::Within(role) = self.at {
                let Ok(end) = self.scan.advance(bytes) else {
                    self.at = At::Invalid;
                    return;
                };
                let (value, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                self.keep(role, value);
                if end.is_some() {
                    self.at = self.after(role);
                }
                bytes = rest;
                continue;
            }
            if !byte.is_ascii_whitespace() && !self.step(byte) {
                // The byte begins a value, and is part of it.
                continue;
            }
            if matches!(self.at, At::End | At::Invalid) {
                return;
            }
            bytes = &bytes[1..];
        }
    }

    /// Returns the kept parts as an object or a frame. Without metadata if it could not be read in full.
    pub(super) fn into_sketch(self) -> Bytes {
        let metadata = match (&self.at, self.metadata.text()) {
            (At::End, Some(metadata)) => metadata,
            _ => b"null",
        };
        let object = [br#"{"metadata":"#, metadata, b"}"].concat();
        match self.outermost {
            Level::Object => object.into(),
            Level::Frame => {
                let change = self.change.text().unwrap_or(br#""""#);
                [br#"{"type":"#, change, br#","object":"#, &object, b"}"]
                    .concat()
                    .into()
            }
        }
    }

    /// Reads one byte between values. Returns whether it was consumed.
    fn step(&mut self, byte: u8) -> bool {
        self.at = match (self.at, byte) {
            (At::Start, b'{') => At::Key,
            (At::Key, b'"') => {
                self.key = Kept::Absent;
                return self.begin(byte, Role::KeyText);
            }
            (At::Colon(role), b':') => At::Value(role),
            (At::Value(Role::Object), b'{') => {
                self.level = Level::Object;
                At::Key
            }
            (At::Value(role), _) => return self.begin(byte, role),
            (At::AfterValue, b',') => At::Key,
            (At::Key | At::AfterValue, b'}') if self.level == self.outermost => At::End,
            (At::Key | At::AfterValue, b'}') => {
                self.level = Level::Frame;
                At::AfterValue
            }
            _ => At::Invalid,
        };
        true
    }

    fn begin(&mut self, byte: u8, role: Role) -> bool {
        let Some(scan) = ValueScan::of(byte) else {
            self.at = At::Invalid;
            return true;
        };
        self.scan = scan;
        match role {
            Role::KeyText => self.key.begin(),
            Role::Change => self.change.begin(),
            Role::Metadata => self.metadata.begin(),
            Role::Object | Role::Skipped => {}
        }
        self.at = At::Within(role);
        false
    }

    fn keep(&mut self, role: Role, value: &[u8]) {
        match role {
            Role::KeyText => self.key.extend(value, TEXT_BYTES),
            Role::Change => self.change.extend(value, TEXT_BYTES),
            Role::Metadata => self.metadata.extend(value, METADATA_BYTES),
            Role::Object | Role::Skipped => {}
        }
    }

    fn after(&self, role: Role) -> At {
        if !matches!(role, Role::KeyText) {
            return At::AfterValue;
        }
        At::Colon(match (self.level, self.key.text()) {
            (Level::Frame, Some(br#""type""#)) => Role::Change,
            (Level::Frame, Some(br#""object""#)) => Role::Object,
            (Level::Object, Some(br#""metadata""#)) => Role::Metadata,
            _ => Role::Skipped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut skim: impl FnMut() -> Skim, text: &str, expected: &str) {
        let text = text.as_bytes();
        for cut in 0..=text.len() {
            let mut skim = skim();
            skim.feed(&text[..cut]);
            skim.feed(&text[cut..]);
            let sketch = skim.into_sketch();
            assert_eq!(std::str::from_utf8(&sketch).unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn the_metadata_of_an_object_is_kept_wherever_it_is() {
        let expected = r#"{"metadata":{"name":"a","x":[{"metadata":1}]}}"#;
        for text in [
            r#"{"metadata":{"name":"a","x":[{"metadata":1}]},"data":{"metadata":"no","k":"\"}"}}"#,
            r#" { "data" : {"metadata":{"name":"no"}} , "metadata" : {"name":"a","x":[{"metadata":1}]} } "#,
        ] {
            check(Skim::of_object, text, expected);
        }
    }

    #[test]
    fn a_frame_is_reduced_to_its_type_and_the_metadata() {
        let expected = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        for text in [
            r#"{"type":"ADDED","object":{"data":{"type":"x"},"metadata":{"name":"a"}}}"#,
            r#"{"metadata":{"name":"no"},"object":{"metadata":{"name":"a"},"type":1},"type":"ADDED"}"#,
        ] {
            check(Skim::of_frame, text, expected);
        }
    }

    #[test]
    fn metadata_that_is_repeated_or_incomplete_or_too_long_is_not_kept() {
        let none = r#"{"metadata":null}"#;
        check(
            Skim::of_object,
            r#"{"metadata":{"name":"a"},"metadata":{"name":"b"}}"#,
            none,
        );
        check(Skim::of_object, r#"{"metadata":{"name":"a"},"data":"#, none);
        check(Skim::of_object, r#"{"metadata":{"name":"a"}]"#, none);
        let mut skim = Skim::of_object();
        skim.feed(br#"{"metadata":{"annotations":{"a":""#);
        (0..100).for_each(|_| skim.feed(&[b'x'; 16 * 1024]));
        skim.feed(br#""},"name":"a"}}"#);
        assert_eq!(skim.into_sketch(), none);
    }
}
