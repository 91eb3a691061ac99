//! The log lines of the libraries, printed to the standard error above the last line of the screen.

use std::io::{self, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{layer, time::uptime};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::screen::Screen;

/// Installs the subscriber. It prints warnings and errors, or what `RUST_LOG` says.
pub(super) fn install(screen: &Screen) {
    let filter = std::env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let filter = filter.unwrap_or_else(|| {
        // Errors of kube's client are returned to its caller, which logs or prints them.
        let silent = Targets::new().with_target("kube_client", LevelFilter::OFF);
        silent.with_default(LevelFilter::WARN)
    });
    let screen = screen.clone();
    let lines = layer()
        .with_ansi(false)
        .with_timer(uptime())
        .with_writer(move || Lines(screen.clone()));
    // A program that has installed another subscriber keeps it.
    let _installed = tracing_subscriber::registry().with(filter).with(lines).try_init();
}

/// Writes each event, which comes in one piece.
struct Lines(Screen);

impl Write for Lines {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.log(text)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
