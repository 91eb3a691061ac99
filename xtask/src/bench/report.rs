//! The report: a table for readers, and JSON with every sample.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Size;
use super::machine::Machine;
use super::rows::{Figure, Library, Row};
use super::samples::{Samples, Summary, Verdict, advantage};
use crate::Result;

/// The libraries that others are compared with, as columns.
const COLUMNS: [Library; 4] = [
    Library::Informers,
    Library::ClientGo,
    Library::ControllerRuntime,
    Library::Kube,
];

pub(super) struct Report<'a> {
    pub(super) machine: Machine,
    pub(super) size: Size,
    pub(super) rounds: usize,
    pub(super) rows: Vec<&'a Row>,
    pub(super) samples: Samples,
}

impl Report<'_> {
    /// Writes `results.md` and `results.json`.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let json = serde_json::to_string_pretty(&self.json())?;
        for (name, text) in [
            ("results.md", self.markdown()),
            ("results.json", format!("{json}\n")),
        ] {
            let path = folder.join(name);
            std::fs::write(&path, text)?;
            println!("bench: wrote {}", path.display());
        }
        Ok(())
    }

    pub(super) fn markdown(&self) -> String {
        let machine = &self.machine;
        let size = match self.size {
            Size::Full => "full",
            Size::Quick => "quick",
        };
        let mut text = String::from("# Results\n\nWritten by `cargo xtask bench`; ");
        text += "[README.md](README.md) explains the rows. Each cell has the median, the\nsmallest and the ";
        text += "largest result, and how many times better ours is.\n\n";
        let _ = writeln!(text, "- {}, {size} size, {} rounds", machine.date, self.rounds);
        let _ = writeln!(
            text,
            "- {}, {} cores, {}",
            machine.processor, machine.cores, machine.system
        );
        let _ = writeln!(text, "- {}; {}", machine.rust, machine.go);
        let _ = writeln!(
            text,
            "- load of the machine: {} before, {} after\n",
            machine.load_before, machine.load_after
        );
        let names: Vec<_> = COLUMNS.iter().map(|library| library.name()).collect();
        let _ = writeln!(text, "| row | figure | {} | |", names.join(" | "));
        let _ = writeln!(text, "|---|---|{}---|", "---|".repeat(COLUMNS.len()));
        for row in &self.rows {
            for figure in row.figures {
                self.line(&mut text, row, figure);
            }
        }
        text
    }

    fn line(&self, text: &mut String, row: &Row, figure: &Figure) {
        let cells: Vec<String> = COLUMNS
            .iter()
            .map(|library| self.cell(row, *library, figure))
            .collect();
        let verdict = verdict(self.samples.verdict(row, figure), figure);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {verdict} |",
            row.title,
            figure.title,
            cells.join(" | ")
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
        match self.advantage(row, library, figure, &summary) {
            Some(times) => format!("{} ({spread}), {times:.2}×", number(summary.median)),
            None => format!("{} ({spread})", number(summary.median)),
        }
    }

    fn advantage(&self, row: &Row, library: Library, figure: &Figure, other: &Summary) -> Option<f64> {
        if library == Library::Informers {
            return None;
        }
        let ours = self.samples.summary(row, Library::Informers, figure)?;
        advantage(figure.goal, ours.median, other.median)
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .flat_map(|row| row.figures.iter().map(|figure| self.json_of(row, figure)))
            .collect();
        json!({
            "machine": self.machine.json(),
            "size": format!("{:?}", self.size).to_lowercase(),
            "rounds": self.rounds,
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
                    "ours_is_better_by": self.advantage(row, *library, figure, &summary),
                }),
                None => json!({ "missing": self.samples.why_missing(row, *library) }),
            };
            libraries.insert(library.name().to_owned(), value);
        }
        json!({
            "row": row.name,
            "figure": figure.name,
            "goal": format!("{:?}", figure.goal).to_lowercase(),
            "verdict": word(self.samples.verdict(row, figure)),
            "libraries": libraries,
        })
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Short => "short",
        Verdict::Shown => "",
    }
}

/// The verdict, with the bar if it is not simply client-go's result.
fn verdict(verdict: Verdict, figure: &Figure) -> String {
    match verdict {
        Verdict::Shown => String::new(),
        _ if figure.bar == 1.0 => word(verdict).to_owned(),
        _ => format!("{} (bar {}×)", word(verdict), figure.bar),
    }
}

/// A number with separators, and one digit after the point if it is small.
fn number(value: f64) -> String {
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
    }
}
