//! Exports the metrics of informers by OpenTelemetry: `cargo run --features metrics --example
//! metrics_opentelemetry`.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use informer_testing::demo::{self, Demo, Program};
use informers::metrics::{Descriptor, Family, Kind, Metrics, Series, Value};
use informers::{SharedInformerFactory, client};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Exports the metrics of an informer by OpenTelemetry, to standard output.");
    program.run(export_metrics).await
}

async fn export_metrics(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or a demo cluster inside this program.
    let client = demo.connect(client::try_default()).await?;
    let mut builder = SharedInformerFactory::builder(client);
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let pods = factory.core().v1().pods().informer();

    // A program has its own provider, usually with an OTLP exporter.
    let exporter = opentelemetry_stdout::MetricExporter::default();
    let reader = PeriodicReader::builder(exporter).with_interval(Duration::from_secs(2));
    let provider = SdkMeterProvider::builder().with_reader(reader.build()).build();
    let metrics = Metrics::new();
    metrics.add_factory("example", &factory);
    register(&provider.meter("informers"), metrics);

    factory.start();
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    while demo.or_end(sleep(Duration::from_secs(1))).await.is_some() {}
    provider.force_flush()?; // while the informers still exist: their series end with them
    drop(pods);
    factory.shutdown().await;
    provider.shutdown()?;
    Ok(())
}

/// Creates an observable instrument for each metric. OpenTelemetry has no observable histogram, so a
/// histogram becomes two counters: how often, and how long in total.
fn register(meter: &Meter, metrics: Metrics) {
    let last = Mutex::new(None);
    let reading = Arc::new(Reading { metrics, last });
    for descriptor in Metrics::descriptors().iter().copied() {
        let name = descriptor.name;
        match descriptor.kind {
            Kind::Gauge => gauge(meter, descriptor, reading.clone()),
            Kind::Histogram => {
                counter(meter, format!("{name}_count"), descriptor, reading.clone(), count);
                counter(meter, format!("{name}_sum"), descriptor, reading.clone(), sum);
            }
            _ => counter(meter, name.to_owned(), descriptor, reading.clone(), count),
        }
    }
}

fn gauge(meter: &Meter, descriptor: &'static Descriptor, reading: Arc<Reading>) {
    let gauge = meter.f64_observable_gauge(descriptor.name);
    let gauge = gauge
        .with_description(descriptor.help)
        .with_callback(move |observer| {
            for series in reading.of(descriptor) {
                if let Value::Number(number) = series.value {
                    observer.observe(number, &attributes(&series));
                }
            }
        });
    gauge.build();
}

fn counter(
    meter: &Meter,
    name: String,
    descriptor: &'static Descriptor,
    reading: Arc<Reading>,
    of: fn(Value) -> f64,
) {
    let counter = meter.f64_observable_counter(name);
    let counter = counter
        .with_description(descriptor.help)
        .with_callback(move |observer| {
            for series in reading.of(descriptor) {
                observer.observe(of(series.value), &attributes(&series));
            }
        });
    counter.build();
}

fn count(value: Value) -> f64 {
    match value {
        Value::Count(count) => count as f64,
        Value::Histogram(times) => times.count() as f64,
        _ => 0.0,
    }
}

fn sum(value: Value) -> f64 {
    match value {
        Value::Histogram(times) => times.sum().as_secs_f64(),
        _ => 0.0,
    }
}

fn attributes(series: &Series) -> Vec<KeyValue> {
    let labels = series.labels.iter();
    labels
        .map(|(name, value)| KeyValue::new(*name, value.clone()))
        .collect()
}

/// The metrics, read once for all instruments of a collection.
struct Reading {
    metrics: Metrics,
    last: Mutex<Option<(Instant, Vec<Family>)>>,
}

impl Reading {
    fn of(&self, descriptor: &Descriptor) -> Vec<Series> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, families) = match last.take() {
            Some(fresh) if fresh.0.elapsed() < Duration::from_millis(500) => last.insert(fresh),
            _ => last.insert((Instant::now(), self.metrics.gather())),
        };
        let family = families.iter().find(|family| family.descriptor == descriptor);
        family.map(|family| family.series.clone()).unwrap_or_default()
    }
}
