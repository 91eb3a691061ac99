//! The samples of a soak, and whether they are flat at the end.

use crate::Result;

/// One column of samples with what it may grow by.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// All samples: the time, and one series per column.
pub(super) struct Samples {
    pub(super) seconds: Vec<f64>,
    pub(super) series: Vec<Series>,
}

/// The columns that must stay flat, with the growth that is noise: a share, and an amount. Caches, buffers
/// and pools fill in the first minutes; what is compared is the middle of the run with its end.
const FLAT: [(&str, f64, f64); 5] = [
    ("memory MiB", 0.10, 8.0),
    ("tasks", 0.20, 8.0),
    ("threads", 0.20, 8.0),
    ("sockets", 0.20, 8.0),
    ("files", 0.20, 8.0),
];

/// The parts of the run that are compared, as shares of it.
const MIDDLE: (f64, f64) = (0.3, 0.6);
const END: (f64, f64) = (0.8, 1.0);

/// Fewer samples than this show nothing.
const FEWEST: usize = 20;

impl Samples {
    /// Reads tab-separated values with a heading. The first column is the time.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let heading = lines.next().ok_or("the soak wrote no samples")?;
        let mut columns: Vec<Series> = heading
            .split('\t')
            .map(|name| Series {
                name: name.to_owned(),
                values: Vec::new(),
            })
            .collect();
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            if cells.len() != columns.len() {
                return Err(format!("a sample has {} columns: {line:?}", cells.len()).into());
            }
            for (column, cell) in columns.iter_mut().zip(cells) {
                let value = cell.parse().map_err(|_| format!("{cell:?} is no number"))?;
                column.values.push(value);
            }
        }
        let seconds = columns.remove(0).values;
        if seconds.len() < FEWEST {
            return Err(format!("only {} samples; run the soak for longer", seconds.len()).into());
        }
        Ok(Self {
            seconds,
            series: columns,
        })
    }

    /// Prints each series, and fails if one of those that must be flat has grown.
    pub(super) fn judge(&self) -> Result<()> {
        println!("{:<12} {:>10} {:>10}", "", "middle", "end");
        let mut grown = Vec::new();
        for Series { name, values } in &self.series {
            let (middle, end) = (median(part(values, MIDDLE)), median(part(values, END)));
            println!("{name:<12} {middle:>10.1} {end:>10.1}");
            let limit = FLAT.iter().find(|(flat, ..)| flat == name);
            if let Some((_, share, amount)) = limit
                && end > middle * (1.0 + share) + amount
            {
                grown.push(format!("{name} grew from {middle:.1} to {end:.1}"));
            }
        }
        match grown.is_empty() {
            true => Ok(()),
            false => Err(format!("not flat: {}", grown.join(", ")).into()),
        }
    }
}

fn part(values: &[f64], (from, to): (f64, f64)) -> &[f64] {
    let place = |share: f64| ((values.len() as f64 * share) as usize).min(values.len());
    &values[place(from)..place(to)]
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(usize) -> f64) -> Samples {
        let mut text = "seconds\tmemory MiB\tevents\n".to_owned();
        for at in 0..100 {
            text += &format!("{at}\t{}\t{at}\n", memory(at));
        }
        Samples::parse(&text).unwrap()
    }

    #[test]
    fn growth_at_the_end_is_an_error_and_noise_is_not() {
        assert!(samples(|_| 100.0).judge().is_ok());
        // Filling at the start, and noise.
        assert!(
            samples(|at| if at < 20 {
                at as f64
            } else {
                100.0 + (at % 7) as f64
            })
            .judge()
            .is_ok()
        );
        let error = samples(|at| 100.0 + at as f64).judge().unwrap_err().to_string();
        assert_eq!(error, "not flat: memory MiB grew from 145.0 to 190.0");
    }

    #[test]
    fn broken_and_short_samples_are_errors() {
        for text in ["", "seconds\tx\n1\t2\n", "seconds\tx\n1\n", "seconds\tx\n1\ta\n"] {
            assert!(Samples::parse(text).is_err(), "{text:?}");
        }
    }
}
