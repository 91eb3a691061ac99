//! Shows how far a build is: one line that changes on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use informer_live::{BuildProgress, KUBERNETES_VERSION};

/// How often a line is written where lines cannot change, in a log of CI for example.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Writes to standard error, so that standard output has the result only.
#[derive(Default)]
pub(crate) struct ProgressLine {
    last: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn show(&mut self, progress: &BuildProgress) {
        let is_final = matches!(progress, BuildProgress::Built { .. });
        let text = text_of(progress);
        // A failure to print must not end a build.
        let mut error = std::io::stderr();
        if error.is_terminal() {
            let end = if is_final { "\n" } else { "" };
            let _ = write!(error, "\r\x1b[K{text}{end}");
            let _ = error.flush();
        } else if is_final || self.last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            let _ = writeln!(error, "{text}");
            self.last = Some(Instant::now());
        }
    }
}

fn text_of(progress: &BuildProgress) -> String {
    match progress {
        BuildProgress::Waiting { elapsed } => {
            format!(
                "waiting for another process that builds the same, {}",
                time(*elapsed)
            )
        }
        BuildProgress::Building {
            program,
            elapsed,
            packages,
            latest,
        } => {
            let latest = latest.rsplit('/').next().unwrap_or_default();
            format!(
                "building {program} for Kubernetes {KUBERNETES_VERSION}, {}: {packages} packages {latest}",
                time(*elapsed)
            )
        }
        BuildProgress::Built { program, elapsed } => format!("built {program} in {}", time(*elapsed)),
        _ => String::new(),
    }
}

fn time(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}
