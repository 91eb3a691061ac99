//! What this process used: processor time, memory and connections, as the system counts them.

use std::collections::BTreeSet;
use std::fs;

use rustix::time::{ClockId, clock_gettime};
use stats_alloc::INSTRUMENTED_SYSTEM;

use crate::Result;

/// The processor time of all threads, ended ones included, in seconds.
pub(crate) fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The part of [`cpu`] outside the kernel, in seconds, by ticks of 10 ms. The kernel's part is mostly the
/// first use of memory, whose price depends on the machine.
pub(crate) fn user() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the program, which may contain blanks, is in parentheses; the time is the 12th field
    // after it.
    let ticks = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(11));
    let ticks: f64 = ticks.ok_or("the status has no processor time")?.parse()?;
    Ok(ticks / 100.0)
}

/// A line of the status of this process in megabytes: `VmRSS` is the resident size, `VmHWM` the largest one
/// so far.
pub(crate) fn megabytes(name: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = kilobytes.ok_or("the status has no such line")?.parse()?;
    Ok(kilobytes / 1024.0)
}

/// Makes `VmHWM` the present resident size.
pub(crate) fn forget_peak() -> Result<()> {
    Ok(fs::write("/proc/self/clear_refs", "5")?)
}

/// The bytes of the live heap; `None` if the allocator of this program does not count.
pub(crate) fn heap() -> Option<usize> {
    let stats = INSTRUMENTED_SYSTEM.stats();
    (stats.allocations > 0).then(|| stats.bytes_allocated - stats.bytes_deallocated)
}

/// The number of established TCP connections of this process.
pub(crate) fn connections() -> Result<usize> {
    let mut established = BTreeSet::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            // The fourth field is the state, 01 for established; the tenth is the inode of the socket.
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let (Some(&"01"), Some(inode)) = (fields.get(3), fields.get(9)) {
                established.insert(format!("socket:[{inode}]"));
            }
        }
    }
    let mut connections = 0;
    for file in fs::read_dir("/proc/self/fd")? {
        // The folder that is being read is one of the files, and may be closed by now.
        let target = fs::read_link(file?.path()).unwrap_or_default();
        connections += usize::from(established.contains(target.to_string_lossy().as_ref()));
    }
    Ok(connections)
}
