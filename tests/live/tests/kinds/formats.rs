//! One object, read from the server as JSON and as protobuf, is the same object.

use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use informers::{ManagedFields, Object};
use kube::Client;
use kube::client::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// How often both are read again, if the object changed in between.
const ATTEMPTS: usize = 20;

/// Reads the object at a path in both formats, and compares what the decoders make of it.
pub(crate) async fn check<K>(client: &Client, path: &str) -> Result<(), String>
where
    K: Object + DeserializeOwned + Serialize,
{
    let decode = informer_protobuf::decoder::<K>().ok_or("it has no decoder")?;
    for _ in 0..ATTEMPTS {
        let (json, bytes) = (
            read(client, path, JSON).await?,
            read(client, path, PROTOBUF).await?,
        );
        let expected: K = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
        let object = open(&bytes).ok_or("the answer has no envelope")?;
        let found = decode(object, ManagedFields::Keep).map_err(|error| error.to_string())?;
        if found.meta().resource_version == expected.meta().resource_version {
            return compare(&value(&found)?, &value(&expected)?);
        }
    }
    Err("it changes all the time".to_owned())
}

fn value(object: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(object).map_err(|error| error.to_string())
}

fn compare(found: &Value, expected: &Value) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("from protobuf: {found}\nfrom JSON: {expected}")),
    }
}

async fn read(client: &Client, path: &str, media_type: &str) -> Result<Vec<u8>, String> {
    let request = http::Request::get(path).header(ACCEPT, media_type);
    let request = request.body(Body::empty()).map_err(|error| error.to_string())?;
    let response = client.send(request).await.map_err(|error| error.to_string())?;
    let (parts, body) = response.into_parts();
    let content_type = parts.headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    if !parts.status.is_success() || content_type != Some(media_type.as_bytes()) {
        return Err(format!("{} {content_type:?} for {media_type}", parts.status));
    }
    let body = body.collect().await.map_err(|error| error.to_string())?;
    Ok(body.to_bytes().to_vec())
}

/// Takes an object out of its envelope: field 2 of the message after four magic bytes.
fn open(envelope: &[u8]) -> Option<&[u8]> {
    let mut rest = envelope.strip_prefix(b"k8s\0")?;
    loop {
        let (tag, length) = (varint(&mut rest)?, varint(&mut rest)?);
        let (value, after) = rest.split_at_checked(length)?;
        rest = after;
        if tag == 0x12 {
            return Some(value);
        }
    }
}

fn varint(rest: &mut &[u8]) -> Option<usize> {
    let length = rest.iter().position(|byte| *byte < 0x80)? + 1;
    let (bytes, after) = rest.split_at(length);
    *rest = after;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |value, byte| (value << 7) | usize::from(byte & 0x7f)))
}
