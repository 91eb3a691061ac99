//! Parts of pages: states, tiles, tables, charts, and numbers for people.

use std::fmt;

use crate::debug::html::Html;
use crate::debug::view::{Level, StateView};

/// What is shown for a number that does not exist.
pub(super) const NONE: &str = "–";

/// The class of a level.
pub(super) fn class(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Off => "off",
        Level::Busy => "busy",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

/// A state as a colour, a shape and a word.
pub(super) fn state(html: &mut Html, level: Level, word: &str) {
    html.raw("<span class=\"state ").raw(class(level)).raw("\">");
    html.text(word).raw("</span>");
}

/// The word for a state.
pub(super) fn word(state: &StateView) -> &str {
    match state.name.as_str() {
        "notStarted" => "not started",
        "backingOff" => "retrying",
        "notFound" => "not found",
        "limitReached" => "limit reached",
        // The text begins with a word for people.
        "other" => state.text.split([':', ',']).next().unwrap_or_default(),
        name => name,
    }
}

/// What a state says beyond its word: errors, and the progress of a list.
pub(super) fn explanation(state: &StateView) -> Option<&str> {
    (state.text != word(state)).then_some(state.text.as_str())
}

/// A number with its name.
pub(super) fn tile(html: &mut Html, name: &'static str, value: impl fmt::Display, note: impl fmt::Display) {
    html.raw("<div><span>")
        .raw(name)
        .raw("</span><b>")
        .text(value)
        .raw("</b>");
    html.raw("<small>").text(note).raw("</small></div>");
}

/// The columns of a table: a name, and whether it has numbers.
pub(super) fn table_head(html: &mut Html, columns: &[(&'static str, Column)]) {
    html.raw("<div class=\"table\"><table><thead><tr>");
    for (name, column) in columns {
        html.raw(match column {
            Column::Number => "<th class=\"n\" scope=\"col\">",
            _ => "<th scope=\"col\">",
        });
        html.raw(name).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
}

pub(super) fn table_end(html: &mut Html) {
    html.raw("</tbody></table></div>");
}

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// What the row is about.
    Title,
    Text,
    Number,
}

/// Begins a cell. Its name is repeated where the screen is too narrow for a table.
pub(super) fn cell(html: &mut Html, (name, column): (&'static str, Column)) {
    html.raw("<td data-label=\"").raw(name);
    html.raw(match column {
        Column::Title => "\" class=\"title\">",
        Column::Text => "\">",
        Column::Number => "\" class=\"n\">",
    });
}

/// A whole cell with a text.
pub(super) fn text_cell(html: &mut Html, column: (&'static str, Column), text: impl fmt::Display) {
    cell(html, column);
    html.text(text).raw("</td>");
}

/// A chart of samples, the newest at the right. Charts begin at zero.
pub(super) fn chart(html: &mut Html, name: &'static str, samples: &[f64], places: usize) {
    const WIDTH: f64 = 150.0;
    const HEIGHT: f64 = 30.0;
    let most = samples.iter().copied().fold(0.0, f64::max);
    html.raw("<svg viewBox=\"0 0 150 32\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"");
    html.raw(name)
        .raw(", last 5 minutes, at most ")
        .text(Amount(most))
        .raw("\"><title>");
    html.raw(name)
        .raw(", last 5 minutes, at most ")
        .text(Amount(most))
        .raw("</title>");
    // A ring that is not full yet begins in the middle.
    let step = WIDTH / places.saturating_sub(1).max(1) as f64;
    let begin = WIDTH - step * samples.len().saturating_sub(1) as f64;
    let x = |place: usize| begin + step * place as f64;
    let y = |sample: f64| match most > 0.0 {
        true => 1.0 + HEIGHT - sample / most * HEIGHT,
        false => 1.0 + HEIGHT,
    };
    let points = |html: &mut Html| {
        for (place, sample) in samples.iter().enumerate() {
            html.text(format_args!("{:.1},{:.1} ", x(place), y(*sample)));
        }
    };
    if samples.len() > 1 {
        html.raw("<polygon points=\"");
        html.text(format_args!("{begin:.1},32 "));
        points(html);
        html.raw("150,32\"/><polyline points=\"");
        points(html);
        html.raw("\"/>");
    }
    html.raw("</svg>");
}

/// A number with separated thousands: `1 234 567`; below 100 with one digit behind the point, unless it is
/// whole.
pub(super) struct Amount(pub(super) f64);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 100.0 && (0.05..0.95).contains(&self.0.fract()) {
            return write!(f, "{:.1}", self.0);
        }
        let digits = format!("{:.0}", self.0.max(0.0));
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                // Narrow, and no line ends there.
                f.write_str("\u{202f}")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A whole number with separated thousands.
pub(super) fn count(number: impl TryInto<u64>) -> Amount {
    Amount(number.try_into().unwrap_or(u64::MAX) as f64)
}

/// A time for people: `0.4 s`, `12 s`, `3 min`, `2 h`, `4 d`; or that it does not exist.
pub(super) struct Time(pub(super) Option<f64>);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str(NONE),
            Some(seconds) if seconds < 0.001 => f.write_str("< 1 ms"),
            Some(seconds) if seconds < 0.1 => write!(f, "{:.0} ms", seconds * 1_000.0),
            Some(seconds) if seconds < 10.0 => write!(f, "{seconds:.1} s"),
            Some(seconds) if seconds < 120.0 => write!(f, "{seconds:.0} s"),
            Some(seconds) if seconds < 7_200.0 => write!(f, "{:.0} min", seconds / 60.0),
            Some(seconds) if seconds < 172_800.0 => write!(f, "{:.0} h", seconds / 3_600.0),
            Some(seconds) => write!(f, "{:.0} d", seconds / 86_400.0),
        }
    }
}

/// A number of bytes for people.
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..10_000 => write!(f, "{} B", self.0),
            10_000..10_000_000 => write!(f, "{:.0} kB", bytes / 1e3),
            10_000_000..10_000_000_000 => write!(f, "{:.0} MB", bytes / 1e6),
            _ => write!(f, "{:.0} GB", bytes / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_short() {
        let amounts = [
            (0.0, "0"),
            (0.25, "0.2"),
            (99.5, "99.5"),
            (1_234_567.0, "1\u{202f}234\u{202f}567"),
        ];
        for (number, expected) in amounts {
            assert_eq!(Amount(number).to_string(), expected);
        }
        let times = [
            (None, "–"),
            (Some(0.0), "< 1 ms"),
            (Some(0.04), "40 ms"),
            (Some(0.44), "0.4 s"),
            (Some(61.0), "61 s"),
            (Some(600.0), "10 min"),
            (Some(86_400.0), "24 h"),
            (Some(864_000.0), "10 d"),
        ];
        for (seconds, expected) in times {
            assert_eq!(Time(seconds).to_string(), expected);
        }
        let sizes = [(9_999, "9999 B"), (41_000, "41 kB"), (1_234_000_000, "1234 MB")];
        for (bytes, expected) in sizes {
            assert_eq!(Bytes(bytes).to_string(), expected);
        }
    }

    fn drawn(samples: &[f64]) -> String {
        let mut html = Html::default();
        chart(&mut html, "x", samples, 3);
        html.into_string()
    }

    #[test]
    fn a_chart_ends_at_the_right_and_begins_at_zero() {
        assert!(drawn(&[1.0, 4.0, 2.0]).contains("<polyline points=\"0.0,23.5 75.0,1.0 150.0,16.0 \"/>"));
        assert!(drawn(&[0.0, 0.0]).contains("<polyline points=\"75.0,31.0 150.0,31.0 \"/>"));
        assert!(!drawn(&[1.0]).contains("polyline"), "one sample is no line");
        assert!(drawn(&[]).contains("at most 0"));
    }
}
