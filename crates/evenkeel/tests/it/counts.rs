//! Counts of one metric, on the thread of the test.

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Counts the events of one counter by the values of one of its labels, if it is the local recorder.
pub(crate) struct Counts {
    counter: &'static str,
    label: &'static str,
    counts: Mutex<HashMap<String, Arc<AtomicU64>>>,
}

impl Counts {
    pub(crate) fn of(counter: &'static str, label: &'static str) -> Self {
        Self { counter, label, counts: Mutex::default() }
    }

    /// How many there were of each value since the last call.
    pub(crate) fn take(&self) -> Vec<(String, u64)> {
        let counts = self.counts.lock().unwrap();
        let counts = counts.iter().map(|(value, count)| (value.clone(), count.swap(0, Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let value = key.labels().find(|label| label.key() == self.label);
        match value {
            Some(value) if key.name() == self.counter => {
                let mut counts = self.counts.lock().unwrap();
                Counter::from_arc(Arc::clone(counts.entry(value.value().to_owned()).or_default()))
            }
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
