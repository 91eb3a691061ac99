//! Row `churn`: the memory of a cache after all of its objects have changed.

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::{Figures, Result, process, sync, writer};

/// How many changes arrive together: less than 64 KiB, above which they would be decoded on another thread,
/// as an initial state is.
const TOGETHER: usize = 8;

/// Reads `--objects` Pods of the replay server, then `--updates` changes of them in turn, a few at a time.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (objects, updates): (usize, usize) = (options.get("objects")?, options.get("updates")?);
    let counts = sync::Counts::default();
    let (_cache, _) = sync::run(library, options, &counts, objects).await?;
    let synced = process::megabytes("VmRSS")?;
    let cpu_before = process::cpu();
    for changed in (TOGETHER..=updates).step_by(TOGETHER) {
        writer::change_pods(options, TOGETHER).await?;
        sync::until(&counts.updated, changed).await;
    }
    let cpu = process::cpu() - cpu_before;
    Ok(vec![
        ("synced_rss", synced),
        ("rss", process::megabytes("VmRSS")?),
        ("cpu_per_event", cpu * 1e6 / updates as f64),
    ])
}
