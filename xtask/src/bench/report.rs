//! The report: tables for readers, charts, and JSON with every sample.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::machine::Machine;
use super::rows::{Against, Figure, Goal, Group, Library, Row};
use super::samples::{Judged, Samples, overall};
use super::{PodsFrom, Size, charts};
use crate::Result;

pub(super) struct Report<'a> {
    pub(super) machine: Machine,
    pub(super) size: Size,
    pub(super) rounds: usize,
    pub(super) pods_from: PodsFrom,
    pub(super) rows: Vec<&'a Row>,
    pub(super) samples: Samples,
}

impl Report<'_> {
    /// Writes `results.md`, `results.json` and the charts.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let json = serde_json::to_string_pretty(&self.json())?;
        let mut files = vec![
            ("results.md".to_owned(), self.markdown()),
            ("results.json".to_owned(), format!("{json}\n")),
        ];
        files.extend(charts::all(&self.rows, &self.samples));
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::write(&path, text)?;
            println!("bench: wrote {}", path.display());
        }
        Ok(())
    }

    pub(super) fn markdown(&self) -> String {
        let machine = &self.machine;
        let mut text = String::from("# Results\n\nWritten by `cargo xtask bench`; ");
        text += "[README.md](README.md) explains the rows. Each cell has the median, the\nsmallest and the ";
        text += "largest result. A ratio is ours divided by the other one.\n\n";
        let _ = writeln!(
            text,
            "- {}, {} size, {} rounds",
            machine.date,
            self.size_name(),
            self.rounds
        );
        let _ = writeln!(
            text,
            "- {}, {} cores, {}",
            machine.processor, machine.cores, machine.system
        );
        let _ = writeln!(text, "- {}; {}", machine.rust, machine.go);
        let _ = writeln!(
            text,
            "- load of the machine: {} before, {} after",
            machine.load_before, machine.load_after
        );
        if self.pods_from == PodsFrom::Replay {
            text += "- No kube-apiserver: Pods come from the replay server, and rows that need more are \
                     missing. Without Go, the libraries\n  in Go are missing too.\n";
        }
        for name in charts::all(&self.rows, &self.samples).keys() {
            let _ = write!(text, "\n![{}]({name})\n", name.trim_end_matches(".svg"));
        }
        for group in Group::ALL {
            self.table(&mut text, group);
        }
        text
    }

    fn size_name(&self) -> &'static str {
        match self.size {
            Size::Full => "full",
            Size::Quick => "quick",
        }
    }

    fn table(&self, text: &mut String, group: Group) {
        let rows: Vec<&&Row> = self.rows.iter().filter(|row| row.group == group).collect();
        if rows.is_empty() {
            return;
        }
        let mut columns = Library::ALL.to_vec();
        columns.retain(|library| rows.iter().any(|row| row.libraries.contains(library)));
        let names: Vec<_> = columns.iter().map(|library| library.name()).collect();
        let _ = writeln!(text, "\n## {}\n", group.title());
        let _ = writeln!(
            text,
            "| row | figure | {} | ratio | bar | aim | |",
            names.join(" | ")
        );
        let _ = writeln!(text, "|---|---|{}---|---|---|---|", "---|".repeat(columns.len()));
        for row in rows {
            for figure in row.figures {
                self.line(text, row, figure, &columns);
            }
        }
    }

    fn line(&self, text: &mut String, row: &Row, figure: &Figure, columns: &[Library]) {
        let cells: Vec<String> = columns
            .iter()
            .map(|library| self.cell(row, *library, figure))
            .collect();
        let judged = self.samples.judge(row, figure);
        let sign = match figure.goal {
            Goal::Larger => "≥",
            Goal::Smaller | Goal::Shown => "≤",
        };
        let list = |texts: Vec<String>| texts.join("; ");
        let ratios = list(judged.iter().map(ratio).collect());
        // A bar that names nothing else than "no other library ahead" is the default.
        let named = || {
            judged
                .iter()
                .filter(|judged| judged.bar.against != Against::OtherLibraries)
        };
        let bars = list(
            named()
                .map(|judged| format!("{sign} {}", judged.bar.bar))
                .collect(),
        );
        let aims = list(
            named()
                .filter_map(|judged| Some(format!("{sign} {}", judged.bar.aim?)))
                .collect(),
        );
        let _ = writeln!(
            text,
            "| {} | {} | {} | {ratios} | {bars} | {aims} | {} |",
            row.title,
            figure.title,
            cells.join(" | "),
            overall(&judged).map_or("", |verdict| verdict.word())
        );
    }

    fn cell(&self, row: &Row, library: Library, figure: &Figure) -> String {
        if let Some(why) = self.samples.why_missing(row, library) {
            return why.to_owned();
        }
        let Some(summary) = self.samples.summary(row, library, figure) else {
            return String::new();
        };
        let spread = format!("{} – {}", number(summary.smallest), number(summary.largest));
        format!("{} ({spread})", number(summary.median))
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .flat_map(|row| row.figures.iter().map(|figure| self.json_of(row, figure)))
            .collect();
        json!({
            "machine": self.machine.json(),
            "size": self.size_name(),
            "rounds": self.rounds,
            "pods_from": format!("{:?}", self.pods_from),
            "rows": rows,
        })
    }

    fn json_of(&self, row: &Row, figure: &Figure) -> Value {
        let mut libraries = Map::new();
        for library in row.libraries {
            let value = match self.samples.summary(row, *library, figure) {
                Some(summary) => json!({
                    "median": summary.median,
                    "smallest": summary.smallest,
                    "largest": summary.largest,
                    "samples": summary.samples,
                }),
                None => json!({ "missing": self.samples.why_missing(row, *library) }),
            };
            libraries.insert(library.name().to_owned(), value);
        }
        let judged = self.samples.judge(row, figure);
        let bars: Vec<Value> = judged
            .iter()
            .map(|judged| {
                json!({
                    "against": judged.against,
                    "ratio": judged.ratio,
                    "bar": judged.bar.bar,
                    "aim": judged.bar.aim,
                    "verdict": judged.verdict.word(),
                })
            })
            .collect();
        json!({
            "row": row.name,
            "figure": figure.name,
            "goal": format!("{:?}", figure.goal).to_lowercase(),
            "verdict": overall(&judged).map(|verdict| verdict.word()),
            "bars": bars,
            "libraries": libraries,
        })
    }
}

/// A ratio and what it refers to.
fn ratio(judged: &Judged) -> String {
    match judged.against {
        Some(other) => format!("{:.2}× {other}", judged.ratio),
        None => number(judged.ratio),
    }
}

/// A number with separators, and with digits after the point if it is small.
pub(super) fn number(value: f64) -> String {
    if value.abs() < 10.0 {
        return format!("{value:.2}");
    }
    if value.abs() < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_separators() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(-1_234.0), "-1,234");
        assert_eq!(number(999.0), "999");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(1.049), "1.05");
    }
}
