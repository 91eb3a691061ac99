//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use informer_sim::{Keep, Playable};

const USAGE: &str = "\
usage: informer-sim --seed N [--only informers|controllers] [--keep 0-3,7] [--trace]
       informer-sim [--seeds N | --for 10m] [--only informers|controllers] [--from N] [--jobs N]
                    [--coverage FILE] [--least N] [--first]";

/// The parsed command line.
pub(crate) struct Args {
    pub(crate) mode: Mode,
    pub(crate) only: Only,
}

/// The plans of each seed that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Only {
    Informers,
    Controllers,
    Both,
}

impl Only {
    /// Whether plans of this name are run.
    pub(crate) fn includes<P: Playable>(self) -> bool {
        match self {
            Self::Informers => P::NAME == "informers",
            Self::Controllers => P::NAME == "controllers",
            Self::Both => true,
        }
    }
}

pub(crate) enum Mode {
    One(One),
    Many(Many),
}

/// One seed.
pub(crate) struct One {
    pub(crate) seed: u64,
    pub(crate) keep: Option<Keep>,
    /// Whether to print the plan and every observation.
    pub(crate) trace: bool,
}

/// Many seeds.
pub(crate) struct Many {
    pub(crate) amount: Amount,
    pub(crate) from: u64,
    pub(crate) jobs: usize,
    /// The file to which the coverage table is written.
    pub(crate) coverage: Option<PathBuf>,
    /// How often everything in `known.txt` must occur.
    pub(crate) least: Option<u64>,
    /// Whether to stop at the first failing seed, without reducing it.
    pub(crate) first_only: bool,
}

pub(crate) enum Amount {
    Seeds(u64),
    Time(Duration),
}

impl Args {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut many = Many {
            amount: Amount::Seeds(1_000),
            from: 0,
            jobs,
            coverage: None,
            least: None,
            first_only: false,
        };
        let (mut seed, mut keep, mut trace, mut only) = (None, None, false, Only::Both);
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("{argument} needs a value\n{USAGE}"))
            };
            match argument.as_str() {
                "--seed" => seed = Some(number(&value()?)?),
                "--keep" => keep = Some(value()?.parse::<Keep>().map_err(|error| error.to_string())?),
                "--trace" => trace = true,
                "--only" => only = plans(&value()?)?,
                "--seeds" => many.amount = Amount::Seeds(number(&value()?)?),
                "--for" => many.amount = Amount::Time(time(&value()?)?),
                "--from" => many.from = number(&value()?)?,
                "--jobs" => many.jobs = usize::try_from(number(&value()?)?).unwrap_or(1).max(1),
                "--coverage" => many.coverage = Some(value()?.into()),
                "--least" => many.least = Some(number(&value()?)?),
                "--first" => many.first_only = true,
                other => return Err(format!("unknown argument {other}\n{USAGE}")),
            }
        }
        let mode = match seed {
            Some(seed) => Mode::One(One { seed, keep, trace }),
            None => Mode::Many(many),
        };
        Ok(Self { mode, only })
    }
}

fn plans(text: &str) -> Result<Only, String> {
    match text {
        "informers" => Ok(Only::Informers),
        "controllers" => Ok(Only::Controllers),
        _ => Err(format!("{text:?} is neither informers nor controllers\n{USAGE}")),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

/// `90s`, `10m`, `2h`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time such as 90s, 10m or 2h");
    let (count, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or_else(wrong)?;
    let count: u64 = count.parse().map_err(|_| wrong())?;
    match unit {
        "s" => Ok(Duration::from_secs(count)),
        "m" => Ok(Duration::from_secs(count * 60)),
        "h" => Ok(Duration::from_secs(count * 3_600)),
        _ => Err(wrong()),
    }
}
