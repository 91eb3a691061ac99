//! Metrics as plain values: families of series.

use std::collections::BTreeMap;

use informer_core::Histogram;

use super::names;

/// The longest value of a label, in characters. Names of handlers, queues and factories come from the
/// program; longer ones are cut.
const LONGEST_LABEL: usize = 120;

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A number that only grows while its series exists. The name ends with `_total`.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// A distribution of times, in seconds.
    Histogram,
}

/// How values with equal labels become one, such as those of two handlers of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    Sum,
    Max,
}

/// A metric: what all of its series have in common.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Descriptor {
    /// The name, as a scrape shows it.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The names of the labels; each series has all of them.
    pub labels: &'static [&'static str],
    /// What it measures, in one sentence.
    pub help: &'static str,
    pub(super) merge: Merge,
}

/// One metric with its series at one moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Family {
    /// The metric.
    pub descriptor: &'static Descriptor,
    /// Its series, each with different labels.
    pub series: Vec<Series>,
}

/// One value and its labels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Series {
    /// Name and value of each label, in the order of the descriptor.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

/// The value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Of a counter.
    Count(u64),
    /// Of a gauge.
    Number(f64),
    /// Of a histogram.
    Histogram(Histogram),
}

impl Value {
    fn merge(&mut self, other: Self, rule: Merge) {
        match (self, other) {
            (Self::Count(own), Self::Count(other)) => *own = own.saturating_add(other),
            (Self::Number(own), Self::Number(other)) => match rule {
                Merge::Sum => *own += other,
                Merge::Max => *own = own.max(other),
            },
            (Self::Histogram(own), Self::Histogram(other)) => own.merge(&other),
            // The values of one metric have one type.
            _ => {}
        }
    }
}

/// Series that are being gathered, by metric and by the values of their labels.
#[derive(Default)]
pub(super) struct Gathering(BTreeMap<&'static str, BTreeMap<Vec<String>, Value>>);

impl Gathering {
    /// Adds a value. Labels that are already there are merged, so that no series occurs twice.
    pub(super) fn add(&mut self, descriptor: &'static Descriptor, labels: &[&str], value: Value) {
        debug_assert_eq!(labels.len(), descriptor.labels.len(), "{}", descriptor.name);
        let labels = labels
            .iter()
            .map(|label| label.chars().take(LONGEST_LABEL).collect());
        let series = self.0.entry(descriptor.name).or_default();
        series
            .entry(labels.collect())
            .and_modify(|present| present.merge(value, descriptor.merge))
            .or_insert(value);
    }

    pub(super) fn count(&mut self, descriptor: &'static Descriptor, labels: &[&str], count: u64) {
        self.add(descriptor, labels, Value::Count(count));
    }

    pub(super) fn gauge(&mut self, descriptor: &'static Descriptor, labels: &[&str], number: usize) {
        self.number(descriptor, labels, number as f64);
    }

    pub(super) fn number(&mut self, descriptor: &'static Descriptor, labels: &[&str], number: f64) {
        self.add(descriptor, labels, Value::Number(number));
    }

    pub(super) fn histogram(&mut self, descriptor: &'static Descriptor, labels: &[&str], value: Histogram) {
        self.add(descriptor, labels, Value::Histogram(value));
    }

    /// The metrics that have series, in the order of the table.
    pub(super) fn into_families(mut self) -> Vec<Family> {
        let all = names::ALL.iter().copied();
        let families = all.filter_map(|descriptor| {
            let series = self.0.remove(descriptor.name)?.into_iter();
            let series = series.map(|(labels, value)| Series {
                labels: descriptor.labels.iter().copied().zip(labels).collect(),
                value,
            });
            Some(Family {
                descriptor,
                series: series.collect(),
            })
        });
        families.collect()
    }
}
