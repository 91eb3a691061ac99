//! Row `relist`: the memory that a relist of an unchanged set takes.

use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::controllers::Library;
use crate::{Figures, Result, process, replay, sync, writer};

/// The time after which freed memory is expected to be returned.
const SETTLE: Duration = Duration::from_secs(2);

/// Reads `--objects` Pods of the replay server, then lets it expire the watch `--relists` times. One Pod
/// changes before each relist, so that a handler can notice its end.
pub(crate) async fn measure(library: Library, options: &Arguments) -> Result<Figures> {
    let (objects, relists): (usize, usize) = (options.get("objects")?, options.get("relists")?);
    let counts = sync::Counts::default();
    let (_cache, _) = sync::run(library, options, &counts, objects).await?;
    tokio::time::sleep(SETTLE).await;
    let steady = process::megabytes("VmRSS")?;
    process::forget_peak()?;
    let (start, cpu_before) = (Instant::now(), process::cpu());
    for relist in 1..=relists {
        replay::command("/replay/expire").await?;
        writer::change_pods(options, 1).await?;
        // The watch has ended, so the change arrives with the relist.
        match library {
            Library::Informers => sync::until(&counts.updated, relist).await,
            // It delivers every object of a relist again.
            Library::Kube => sync::until(&counts.added, objects * (relist + 1)).await,
        }
    }
    let peak = process::megabytes("VmHWM")?;
    let each = relists as f64;
    Ok(vec![
        ("steady_rss", steady),
        ("peak_over_steady", peak / steady),
        ("wall", start.elapsed().as_secs_f64() * 1e3 / each),
        ("cpu", (process::cpu() - cpu_before) * 1e3 / each),
    ])
}
