//! Serves an empty cluster until Ctrl-C (or the end of input), for manual tests:
//!
//! ```text
//! cargo run -p informer-testing --example serve -- /tmp/kubeconfig
//! kubectl --kubeconfig /tmp/kubeconfig get namespaces
//! ```

use std::error::Error;
use std::io::{self, Read as _, Write as _};

use informer_testing::ApiServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::builder().start_http().await?;
    let kubeconfig = server.kubeconfig().unwrap_or_default();
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(path, kubeconfig)?,
        None => io::stdout().write_all(kubeconfig.as_bytes())?,
    }
    writeln!(io::stdout(), "serving on {}", server.url().unwrap_or_default())?;
    tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new())).await??;
    server.shutdown().await;
    Ok(())
}
