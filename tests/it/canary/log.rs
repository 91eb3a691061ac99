//! Collects every span and log line of the process, at TRACE.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Begins to collect, once per process.
pub(crate) fn begin() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| tracing::subscriber::set_global_default(Log::default()).unwrap());
}

/// Every line so far.
pub(crate) fn lines() -> Vec<String> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[derive(Default)]
struct Log {
    spans: AtomicU64,
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        add("span", attributes.metadata(), |fields| attributes.record(fields));
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut fields = Fields("record ".to_owned());
        values.record(&mut fields);
        push(fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        add("event", event.metadata(), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn add(what: &str, metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields)) {
    let mut fields = Fields(format!("{what} {} {}: ", metadata.target(), metadata.name()));
    record(&mut fields);
    push(fields.0);
}

fn push(line: String) {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}
