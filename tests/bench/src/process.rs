//! What this process used: processor time and memory, as the system counts them.

use std::fs;

use crate::Result;

/// The processor time of all threads in seconds, in steps of ten milliseconds.
pub(crate) fn cpu() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, the name, is in parentheses and may contain spaces.
    let fields: Vec<&str> = match stat.rsplit_once(") ") {
        Some((_, rest)) => rest.split(' ').collect(),
        None => Vec::new(),
    };
    // User and system time are the fields 14 and 15.
    let ticks = |index: usize| -> Result<f64> { Ok(fields.get(index).ok_or("a short line")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}

/// A line of the status of this process in megabytes, such as `VmHWM`, the largest resident size so far.
pub(crate) fn megabytes(name: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = kilobytes.ok_or("the status has no such line")?.parse()?;
    Ok(kilobytes / 1024.0)
}
