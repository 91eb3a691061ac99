//! Metrics as a collector of prometheus-client.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;

use super::family::{Family, Kind, Value};
use super::{Histogram, Metrics};

/// The labels of exemplars, which these metrics do not have.
type NoLabels = [(&'static str, &'static str); 0];

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for family in self.gather() {
            encode(&family, &mut encoder)?;
        }
        Ok(())
    }
}

fn encode(family: &Family, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
    let descriptor = family.descriptor;
    // The encoder appends the suffix of counters.
    let (name, kind) = match descriptor.kind {
        Kind::Counter => (
            descriptor.name.strip_suffix("_total").unwrap_or(descriptor.name),
            MetricType::Counter,
        ),
        Kind::Gauge => (descriptor.name, MetricType::Gauge),
        Kind::Histogram => (descriptor.name, MetricType::Histogram),
    };
    let mut metric = encoder.encode_descriptor(name, descriptor.help, None, kind)?;
    for series in &family.series {
        let labels = series.labels.as_slice();
        write(&mut metric.encode_family(&labels)?, series.value)?;
    }
    Ok(())
}

fn write(encoder: &mut MetricEncoder<'_>, value: Value) -> Result<(), Error> {
    match value {
        Value::Count(count) => encoder.encode_counter::<NoLabels, _, u64>(&count, None),
        Value::Number(number) => encoder.encode_gauge(&number),
        Value::Histogram(histogram) => {
            let buckets = buckets(&histogram);
            let sum = histogram.sum().as_secs_f64();
            encoder.encode_histogram::<NoLabels>(sum, histogram.count(), &buckets, None)
        }
    }
}

/// The buckets for the encoder, which adds them up. The last one has no bound.
fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let mut buckets: Vec<(f64, u64)> = histogram
        .buckets()
        .map(|(bound, count)| (bound.as_secs_f64(), count))
        .collect();
    let bounded: u64 = buckets.iter().map(|(_, count)| count).sum();
    buckets.push((f64::INFINITY, histogram.count().saturating_sub(bounded)));
    buckets
}
