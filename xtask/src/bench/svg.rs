//! Writes bar charts as SVG that are readable on a dark and on a light page.

use std::fmt::Write as _;

use super::report::number;

/// A picture with panels below each other.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

/// Bars that share a scale, from zero to the largest of them.
pub(super) struct Panel {
    pub(super) title: String,
    /// Ours first.
    pub(super) values: Vec<Value>,
}

/// A bar from zero to the median, with the spread as a line.
pub(super) struct Value {
    pub(super) label: &'static str,
    pub(super) median: f64,
    pub(super) smallest: f64,
    pub(super) largest: f64,
}

pub(crate) const WIDTH: f64 = 840.0;
/// Where bars begin: labels are left of it.
const LEFT: f64 = 150.0;
/// The length of the longest bar; its number follows it.
const LENGTH: f64 = 490.0;
const BAR: f64 = 18.0;
const GAP: f64 = 6.0;
const TITLE: f64 = 40.0;
const PANEL: f64 = 34.0;

/// Has a contrast of at least 4.5 with white and with black.
pub(crate) const TEXT: &str = "#767676";
pub(crate) const OURS: &str = "#d9711c";
const OTHER: &str = "#7a8ca8";

impl Chart {
    pub(super) fn svg(&self) -> String {
        let bars: usize = self.panels.iter().map(|panel| panel.values.len()).sum();
        let height = TITLE + self.panels.len() as f64 * PANEL + bars as f64 * (BAR + GAP);
        let mut text = String::new();
        let _ = writeln!(
            text,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"
  height="{height}" font-family="sans-serif" font-size="13" fill="{TEXT}" role="img">"#
        );
        let _ = writeln!(
            text,
            r#"<text x="8" y="24" font-size="17" font-weight="bold">{}</text>"#,
            escape(&self.title)
        );
        let mut y = TITLE;
        for panel in &self.panels {
            y = panel.write(&mut text, y);
        }
        text += "</svg>\n";
        text
    }
}

impl Panel {
    /// Returns where the next panel begins.
    fn write(&self, text: &mut String, top: f64) -> f64 {
        let _ = writeln!(
            text,
            r#"<text x="8" y="{:.0}" font-weight="bold">{}</text>"#,
            top + 20.0,
            escape(&self.title)
        );
        let longest = self
            .values
            .iter()
            .map(|value| value.largest)
            .fold(f64::MIN_POSITIVE, f64::max);
        // A negative time has no bar.
        let length = |value: f64| LENGTH * (value / longest).clamp(0.0, 1.0);
        let mut y = top + PANEL - GAP;
        for (place, value) in self.values.iter().enumerate() {
            let color = if place == 0 { OURS } else { OTHER };
            let base = y + BAR * 0.75;
            let _ = writeln!(
                text,
                r#"<text x="{:.0}" y="{base:.1}" text-anchor="end">{}</text>"#,
                LEFT - 8.0,
                escape(value.label)
            );
            let _ = writeln!(
                text,
                r#"<rect x="{LEFT}" y="{y:.1}" width="{:.1}" height="{BAR}" rx="2" fill="{color}"/>"#,
                length(value.median).max(1.0)
            );
            let middle = y + BAR / 2.0;
            let (from, to) = (LEFT + length(value.smallest), LEFT + length(value.largest));
            let _ = writeln!(
                text,
                r#"<path d="M{from:.1} {middle:.1}H{to:.1}" stroke="{TEXT}" stroke-width="2"/>"#
            );
            let _ = writeln!(
                text,
                r#"<text x="{:.1}" y="{base:.1}">{}</text>"#,
                to.max(LEFT + length(value.median)) + 8.0,
                number(value.median)
            );
            y += BAR + GAP;
        }
        y + GAP
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(label: &'static str, median: f64) -> Value {
        Value {
            label,
            median,
            smallest: median,
            largest: median,
        }
    }

    #[test]
    fn bars_are_proportional_and_texts_are_escaped() {
        let chart = Chart {
            title: "a < b & c".to_owned(),
            panels: vec![Panel {
                title: "figures".to_owned(),
                values: vec![
                    value("ours", 50.0),
                    value("other", 100.0),
                    value("negative", -3.0),
                ],
            }],
        };
        let svg = chart.svg();
        assert!(svg.contains("a &lt; b &amp; c"), "{svg}");
        for width in ["245.0", "490.0", "1.0"] {
            assert!(
                svg.contains(&format!(r#"width="{width}" height="18""#)),
                "{width}: {svg}"
            );
        }
    }
}
