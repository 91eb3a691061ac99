//! Draws the samples of a soak as lines, one panel per series, in the style of the benchmark charts.

use std::fmt::Write as _;

use super::samples::{Samples, Series};
use crate::bench::svg::{OURS, TEXT, WIDTH, escape};

const LEFT: f64 = 150.0;
const RIGHT: f64 = 20.0;
const TITLE: f64 = 40.0;
const PANEL: f64 = 70.0;
const GAP: f64 = 16.0;

pub(super) fn svg(samples: &Samples) -> String {
    let height = TITLE + samples.series.len() as f64 * (PANEL + GAP) + 24.0;
    let minutes = samples.seconds.last().copied().unwrap_or(0.0) / 60.0;
    let mut text = String::new();
    let _ = writeln!(
        text,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"
  height="{height}" font-family="sans-serif" font-size="13" fill="{TEXT}" role="img">"#
    );
    let title = format!("{minutes:.0} minutes of writes, faults and renewed informers on a kube-apiserver");
    let _ = writeln!(
        text,
        r#"<text x="8" y="24" font-size="17" font-weight="bold">{}</text>"#,
        escape(&title)
    );
    let mut top = TITLE;
    for series in &samples.series {
        panel(&mut text, series, &samples.seconds, top);
        top += PANEL + GAP;
    }
    let _ = writeln!(
        text,
        r#"<text x="{LEFT}" y="{base:.0}">0</text>
<text x="{:.0}" y="{base:.0}" text-anchor="end">{minutes:.0} min</text>"#,
        WIDTH - RIGHT,
        base = top + 10.0
    );
    text += "</svg>\n";
    text
}

/// From zero to the largest value, with that value beside it.
fn panel(text: &mut String, series: &Series, seconds: &[f64], top: f64) {
    let largest = series.values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let longest = seconds.last().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let bottom = top + PANEL;
    let _ = writeln!(
        text,
        r#"<text x="8" y="{:.0}" font-weight="bold">{}</text>
<text x="{:.0}" y="{:.0}" text-anchor="end">{largest:.0}</text>
<text x="{:.0}" y="{bottom:.0}" text-anchor="end">0</text>
<path d="M{LEFT} {bottom:.0}H{:.0}" stroke="{TEXT}" stroke-opacity="0.4"/>"#,
        top + 14.0,
        escape(&series.name),
        LEFT - 6.0,
        top + 14.0,
        LEFT - 6.0,
        WIDTH - RIGHT,
    );
    let mut path = String::new();
    for (at, value) in seconds.iter().zip(&series.values) {
        let x = LEFT + (WIDTH - RIGHT - LEFT) * (at / longest).clamp(0.0, 1.0);
        let y = bottom - PANEL * (value / largest).clamp(0.0, 1.0);
        let step = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{step}{x:.1} {y:.1}");
    }
    let _ = writeln!(
        text,
        r#"<path d="{path}" fill="none" stroke="{OURS}" stroke-width="1.5"/>"#
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_the_left_to_the_right_and_from_zero_to_its_largest_value() {
        let mut table = "seconds\tthreads & more\n".to_owned();
        for at in 0..=60 {
            table += &format!("{at}\t{at}\n");
        }
        let svg = svg(&Samples::parse(&table).unwrap());
        assert!(svg.contains("threads &amp; more"), "{svg}");
        assert!(svg.contains("M150.0 110.0L"), "{svg}");
        assert!(svg.contains("L820.0 40.0\""), "{svg}");
    }
}
