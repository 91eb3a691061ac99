//! Pods in both wire formats, made from one: only name, UID, namespace and version differ.
//!
//! `pod.pb` and `pod-typical.pb` are the Pods of [`source`], encoded by the program in Go, which a test
//! checks. A value that differs is replaced by one of the same length, so the lengths inside the protobuf
//! message stay valid and a Pod is made by copying.

use std::str::FromStr;

use crate::{pods, typical};

/// The number of the Pod that is the template: seven digits that occur only where the number is meant.
const NUMBER: usize = 9_999_999;
const NUMBER_TEXT: &[u8] = b"9999999";
const VERSION_TEXT: &[u8] = b"10999999";
const NAMESPACE_TEXT: &[u8] = b"team-24";

/// How many Pods are in each namespace.
pub const PODS_PER_NAMESPACE: usize = 200;

/// The first version: all versions have as many digits.
pub const FIRST_VERSION: u64 = 10_000_000;

/// Which Pods are read. docs/bench/README.md describes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodSize {
    /// One container and two volumes.
    Typical,
    /// Two containers and four volumes.
    Large,
}

impl PodSize {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Typical, Self::Large];

    /// A Pod in JSON.
    pub(crate) fn json(self, number: usize) -> String {
        match self {
            Self::Typical => typical::json(number),
            Self::Large => pods::json(number),
        }
    }

    /// The template in protobuf.
    fn protobuf(self) -> &'static [u8] {
        match self {
            Self::Typical => include_bytes!("../pod-typical.pb"),
            Self::Large => include_bytes!("../pod.pb"),
        }
    }
}

impl FromStr for PodSize {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "typical" => Ok(Self::Typical),
            "large" => Ok(Self::Large),
            _ => Err(format!("no Pod is called {name}")),
        }
    }
}

/// The JSON of a template, whose encoding is the file in protobuf; see docs/bench/README.md.
pub fn source(size: PodSize) -> String {
    size.json(NUMBER)
}

/// The namespace of a Pod.
pub fn namespace(number: usize) -> String {
    format!("n-{:05}", number / PODS_PER_NAMESPACE)
}

/// The name of a Pod.
pub fn name(number: usize) -> String {
    format!("checkout-39-6d4cf56db9-{number:07}")
}

/// Makes Pods in one wire format.
pub struct Template {
    bytes: Vec<u8>,
    numbers: Vec<usize>,
    versions: Vec<usize>,
    namespaces: Vec<usize>,
}

impl Template {
    /// Pods in JSON.
    pub fn json(size: PodSize) -> Self {
        Self::new(source(size).into_bytes())
    }

    /// Pods in protobuf, without the envelope.
    pub fn protobuf(size: PodSize) -> Self {
        Self::new(size.protobuf().to_vec())
    }

    fn new(bytes: Vec<u8>) -> Self {
        let places = |text: &[u8]| -> Vec<usize> {
            let windows = bytes.windows(text.len()).enumerate();
            windows
                .filter(|(_, window)| *window == text)
                .map(|(place, _)| place)
                .collect()
        };
        Self {
            numbers: places(NUMBER_TEXT),
            versions: places(VERSION_TEXT),
            namespaces: places(NAMESPACE_TEXT),
            bytes,
        }
    }

    /// The number of bytes of a Pod.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a Pod.
    pub fn write(&self, number: usize, version: u64, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(&self.bytes);
        let pod = &mut output[start..];
        for (places, text) in [
            (&self.numbers, format!("{number:07}")),
            (&self.versions, format!("{version:08}")),
            (&self.namespaces, namespace(number)),
        ] {
            for place in places {
                pod[*place..place + text.len()].copy_from_slice(text.as_bytes());
            }
        }
    }

    /// A Pod with the first version.
    pub fn pod(&self, number: usize) -> Vec<u8> {
        let mut pod = Vec::new();
        self.write(number, FIRST_VERSION, &mut pod);
        pod
    }
}
