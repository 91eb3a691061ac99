//! Parses `metav1.Status`, the body of error responses and ERROR events.

use std::time::Duration;

use super::envelope::Envelope;
use super::error::ProtobufError;
use super::fields::Fields;
use crate::printable::Printable;
use crate::source::ServerStatus;

/// The number of causes that are kept. Real responses have a handful.
const CAUSES: usize = 16;

/// Parses a `metav1.Status` in its envelope. Returns `None` if the bytes are something else.
pub(in crate::source) fn parse(bytes: &[u8]) -> Option<ServerStatus> {
    let envelope = Envelope::open(bytes)?.ok()?;
    match envelope.types.kind {
        "Status" => read(envelope.object).ok(),
        _ => None,
    }
}

/// Reads the fields of a `Status`. Texts are escaped and truncated.
fn read(bytes: &[u8]) -> Result<ServerStatus, ProtobufError> {
    let mut status = ServerStatus::default();
    let mut fields = Fields(bytes);
    while let Some(tag) = fields.tag()? {
        match tag.number {
            3 => status.message = sentence(fields.bytes(tag)?),
            4 => status.reason = word(fields.bytes(tag)?),
            5 => read_details(fields.bytes(tag)?, &mut status)?,
            6 => status.code = u16::try_from(fields.integer(tag)?).unwrap_or_default(),
            _ => fields.skip(tag)?,
        }
    }
    Ok(status)
}

fn read_details(bytes: &[u8], status: &mut ServerStatus) -> Result<(), ProtobufError> {
    let mut fields = Fields(bytes);
    while let Some(tag) = fields.tag()? {
        match tag.number {
            4 if status.causes.len() < CAUSES => status.causes.push(read_cause(fields.bytes(tag)?)?),
            5 => {
                let seconds = u64::try_from(fields.integer(tag)?).unwrap_or_default();
                status.retry_after = (seconds > 0).then(|| Duration::from_secs(seconds));
            }
            _ => fields.skip(tag)?,
        }
    }
    Ok(())
}

/// Reads the reason and the message of a cause.
fn read_cause(bytes: &[u8]) -> Result<(String, String), ProtobufError> {
    let mut cause = (String::new(), String::new());
    let mut fields = Fields(bytes);
    while let Some(tag) = fields.tag()? {
        match tag.number {
            1 => cause.0 = word(fields.bytes(tag)?),
            2 => cause.1 = sentence(fields.bytes(tag)?),
            _ => fields.skip(tag)?,
        }
    }
    Ok(cause)
}

fn word(bytes: &[u8]) -> String {
    Printable::name(&String::from_utf8_lossy(bytes))
        .into_cow()
        .into_owned()
}

fn sentence(bytes: &[u8]) -> String {
    Printable::message(&String::from_utf8_lossy(bytes))
        .into_cow()
        .into_owned()
}
