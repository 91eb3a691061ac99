//! Which figures become charts.

use std::collections::BTreeMap;

use super::rows::{Figure, Goal, Row};
use super::samples::Samples;
use super::svg::{Chart, Panel, Value};

/// What one chart shows.
struct Drawn {
    file: &'static str,
    title: &'static str,
    /// The panels: rows, and one figure of each.
    figures: &'static [(&'static str, &'static str)],
}

const CHARTS: [Drawn; 4] = [
    Drawn {
        file: "sync.svg",
        title: "Time to sync",
        figures: &[
            ("sync", "wall"),
            ("sync", "cpu"),
            ("sync-json", "wall"),
            ("sync-json", "cpu"),
            ("sync-large", "wall"),
            ("sync-large", "cpu"),
        ],
    },
    Drawn {
        file: "memory.svg",
        title: "Memory",
        figures: &[
            ("sync", "peak_rss"),
            ("sync-json", "peak_rss"),
            ("sync-large", "peak_rss"),
            ("packed", "peak_rss"),
            ("churn", "rss"),
            ("heap", "heap_per_object"),
            ("heap-large", "heap_per_object"),
            ("relist", "peak_over_steady"),
            ("idle", "above_first"),
        ],
    },
    Drawn {
        file: "updates.svg",
        title: "Changes and reads",
        figures: &[
            ("updates-10", "writes_per_second"),
            ("updates-1000", "writes_per_second"),
            ("readers-1", "writes_per_second"),
            ("readers-10", "writes_per_second"),
            ("readers-80", "writes_per_second"),
            ("readers-10", "reads_per_second"),
            ("readers-80", "reads_per_second"),
        ],
    },
    Drawn {
        file: "latency.svg",
        title: "Latency",
        figures: &[
            ("notice", "from_request_median"),
            ("notice", "from_request_p99"),
            ("latency", "from_request_median"),
            ("latency", "from_request_p99"),
            ("gets", "get_p99"),
        ],
    },
];

/// The charts for which there are results, by file.
pub(super) fn all(rows: &[&Row], samples: &Samples) -> BTreeMap<String, String> {
    let mut charts = BTreeMap::new();
    for drawn in CHARTS {
        let panels: Vec<Panel> = drawn
            .figures
            .iter()
            .filter_map(|(row, figure)| {
                let row = rows.iter().find(|found| found.name == *row)?;
                let figure = row.figures.iter().find(|found| found.name == *figure)?;
                panel(row, figure, samples)
            })
            .collect();
        if !panels.is_empty() {
            let chart = Chart {
                title: drawn.title.to_owned(),
                panels,
            };
            charts.insert(drawn.file.to_owned(), chart.svg());
        }
    }
    charts
}

/// The medians of one figure; `None` if this library has none.
fn panel(row: &Row, figure: &Figure, samples: &Samples) -> Option<Panel> {
    let better = match figure.goal {
        Goal::Larger => "more is better",
        Goal::Smaller | Goal::Shown => "less is better",
    };
    let values: Vec<Value> = row
        .libraries
        .iter()
        .filter_map(|library| {
            let summary = samples.summary(row, *library, figure)?;
            Some(Value {
                label: library.name(),
                median: summary.median,
                smallest: summary.smallest,
                largest: summary.largest,
            })
        })
        .collect();
    let has_ours = values.first()?.label == row.libraries.first()?.name();
    has_ours.then(|| Panel {
        title: format!("{}: {} ({better})", row.title, figure.title),
        values,
    })
}
