//! A process that campaigns for a lease and reports when it acts as the leader, for the tests of elections.

use std::io::{Read as _, Write as _};
use std::time::{Duration, SystemTime};

use informer_core::leader::LeaderElection;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio_util::sync::CancellationToken;

use crate::Result;

/// The time between two acts.
const PERIOD: Duration = Duration::from_millis(5);

/// Campaigns for the lease `lock` until standard input is closed. Prints a line for each event: the time in
/// microseconds by the clock of the machine, and `acts`, `resigned` or `lost`.
pub(crate) fn campaign(kubeconfig: &str, namespace: &str, identity: &str) -> Result<()> {
    // A test that is killed leaves no process behind, not even a stopped one.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let stop = CancellationToken::new();
    let closed = stop.clone();
    std::thread::spawn(move || {
        let _ended = std::io::stdin().read_to_end(&mut Vec::new());
        closed.cancel();
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let client = informer_core::client::from_config(config)?;
        let election = LeaderElection::new(client, namespace, "lock")
            .identity(identity)
            .lease_duration(Duration::from_secs(4))
            .renew_deadline(Duration::from_secs(3))
            .retry_period(Duration::from_secs(1));
        election.validate()?;
        let Some(leadership) = election.campaign(stop.clone()).await else {
            return Ok(());
        };
        let acts = async {
            loop {
                report("acts");
                tokio::time::sleep(PERIOD).await;
            }
        };
        tokio::select! {
            lost = leadership.guard(acts) => {
                let _lost = lost.map(|never: std::convert::Infallible| never);
                report("lost");
            }
            () = stop.cancelled() => {
                leadership.resign().await;
                report("resigned");
            }
        }
        Ok(())
    })
}

fn report(event: &str) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut out = std::io::stdout().lock();
    // The test that reads the lines may have ended.
    let _written = writeln!(out, "{} {event}", now.unwrap_or_default().as_micros());
    let _flushed = out.flush();
}
