//! Serves the metrics of informers for Prometheus: `cargo run --features metrics --example
//! metrics_prometheus`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use informer_testing::demo::{self, Demo, Program};
use informers::metrics::Metrics;
use informers::{Event, HandlerOptions, SharedInformerFactory, client};
use k8s_openapi::api::core::v1::Pod;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Serves the metrics of an informer, and shows some of each scrape.");
    program.run(serve_metrics).await
}

async fn serve_metrics(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or a demo cluster inside this program.
    let client = demo.connect(client::try_default()).await?;
    let mut builder = SharedInformerFactory::builder(client);
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let pods = factory.core().v1().pods().informer();
    // The name is a label of the handler's metrics. The default is the type, which is long.
    let options = HandlerOptions::default().name("audit");
    pods.add_handler_with(options, |_: Event<Pod>| {
        std::thread::sleep(Duration::from_millis(2))
    })?;

    // What the program itself measures is registered here as well.
    let mut registry = Registry::default();
    let metrics = Metrics::new();
    metrics.add_factory("example", &factory); // the label `name`
    registry.register_collector(Box::new(metrics));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(serve(listener, Arc::new(registry)));

    factory.start();
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    demo.line(format_args!("Metrics are served at http://{address}/metrics"));
    loop {
        demo.line("");
        for line in scrape(address).await?.lines().filter(|line| is_shown(line)) {
            demo.line(line);
        }
        if demo.or_end(sleep(Duration::from_secs(2))).await.is_none() {
            break;
        }
    }
    server.abort();
    factory.shutdown().await;
    Ok(())
}

/// Answers every request with the metrics. Most programs have an HTTP server and add a route to it.
async fn serve(listener: TcpListener, registry: Arc<Registry>) {
    while let Ok((stream, _)) = listener.accept().await {
        let registry = registry.clone();
        // A client that sends or reads nothing ends by itself.
        tokio::spawn(timeout(Duration::from_secs(5), answer(stream, registry)));
    }
}

async fn answer(mut stream: TcpStream, registry: Arc<Registry>) -> std::io::Result<()> {
    let _request = stream.read(&mut [0; 4096]).await?;
    let mut body = String::new();
    encode(&mut body, &registry).map_err(std::io::Error::other)?;
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n\
                content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    let response = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(response.as_bytes()).await
}

/// Reads the metrics, as Prometheus does.
async fn scrape(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}

/// A few of the metrics; docs/operating/metrics.md has all of them.
fn is_shown(line: &str) -> bool {
    let shown = [
        "informer_store_objects{",
        "informer_staleness_seconds{",
        "informer_events_total{",
        "informer_handler_pending_events{",
        "informer_handler_duration_seconds_count{",
    ];
    shown.iter().any(|name| line.starts_with(name))
}
