//! The texts of a scene, and the search for the canary in them.

use std::error::Error;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informer_core::{DynInformer, Object, SharedInformer};

use crate::{CANARY, log};

/// Texts with a name each. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Surfaces(Arc<Mutex<Vec<(String, String)>>>);

impl Surfaces {
    pub(crate) fn begin() -> Self {
        log::begin();
        Self::default()
    }

    pub(crate) fn text(&self, name: &str, text: impl Into<String>) {
        self.0.lock().unwrap().push((name.to_owned(), text.into()));
    }

    pub(crate) fn debug(&self, name: &str, value: &(impl Debug + ?Sized)) {
        self.text(name, format!("{value:?}\n{value:#?}"));
    }

    /// Both texts of an error, and those of its sources.
    pub(crate) fn error(&self, name: &str, error: &dyn Error) {
        let mut text = format!("{error:?}");
        let mut next = Some(error);
        while let Some(error) = next {
            write!(text, "\n{error}").unwrap();
            next = error.source();
        }
        self.text(name, text);
    }

    /// Every text that an informer offers.
    pub(crate) fn informer<K: Object>(&self, informer: &SharedInformer<K>) {
        let indexer = informer.indexer();
        let snapshot = indexer.snapshot();
        self.debug("informer", informer);
        self.debug("untyped informer", &DynInformer::new(informer.clone()));
        self.debug("status", &informer.status());
        self.debug("indexer", &indexer);
        self.debug("snapshot", &snapshot);
        self.debug("stale", snapshot.stale());
        self.debug(
            "entries",
            &snapshot.iter().map(|(key, _)| key.to_key()).collect::<Vec<_>>(),
        );
        for key in snapshot.keys() {
            self.debug("object", &snapshot.peek(&key));
        }
        let status = informer.status();
        for scope in &status.scopes {
            self.text("state", scope.state.to_string());
            if let Some(error) = &scope.last_error {
                self.error("last error", &error.error);
            }
            if let Some(object) = &scope.last_undecodable {
                self.text("last undecodable", object.to_string());
            }
        }
    }

    /// Fails if the canary is in one of the texts, or in the log of the process.
    pub(crate) fn check(&self) {
        let texts = self.0.lock().unwrap().clone();
        let logged = log::lines();
        assert!(!logged.is_empty(), "nothing was logged at TRACE");
        let lines = logged.into_iter().map(|line| ("log".to_owned(), line));
        let mut found: Vec<String> = texts
            .into_iter()
            .chain(lines)
            .filter(|(_, text)| forms().iter().any(|form| text.contains(form)))
            .map(|(name, text)| format!("{name}: {text}"))
            .collect();
        found.dedup();
        assert!(
            found.is_empty(),
            "the canary is in {} texts: {found:#?}",
            found.len()
        );
    }
}

/// How the canary may be printed: as it is, as base64, as bytes in decimal and in hexadecimal.
fn forms() -> Vec<String> {
    let bytes = &CANARY.as_bytes()[..8];
    let decimal: Vec<String> = bytes.iter().map(u8::to_string).collect();
    let lines: Vec<String> = decimal.iter().map(|byte| format!("    {byte},\n")).collect();
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    vec![
        CANARY.to_owned(),
        STANDARD.encode(CANARY),
        decimal.join(", "),
        lines.concat().trim().to_owned(),
        hexadecimal,
    ]
}

#[test]
fn every_form_of_the_canary_is_found() {
    let bytes = CANARY.as_bytes();
    for text in [
        format!("{:?}", Some(CANARY)),
        format!("{bytes:?}"),
        format!("{bytes:#?}"),
        STANDARD.encode(bytes),
    ] {
        let surfaces = Surfaces::begin();
        tracing::trace!("one line");
        surfaces.text("text", text.clone());
        let outcome = std::panic::catch_unwind(|| surfaces.check());
        assert!(outcome.is_err(), "{text}");
    }
}
