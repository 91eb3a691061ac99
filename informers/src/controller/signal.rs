//! The signals that end a process.

/// Waits for SIGTERM or Ctrl-C: how Kubernetes and people stop a program.
///
/// From the first poll on, these signals no longer end the process by themselves. If the signals cannot be
/// observed, which needs tokio's I/O driver, this logs an error and never returns.
pub async fn terminated() {
    if let Err(error) = wait().await {
        tracing::error!(%error, "cannot observe signals; the program must be stopped in another way");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn wait() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn wait() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
