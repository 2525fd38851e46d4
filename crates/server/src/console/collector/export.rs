//! [`Export`]: the figures of a reading as metrics, so that Prometheus needs no exporter for Redis and the database.

use super::Snapshot;
use crate::alerts::values;
use metrics::{Label, gauge};
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// The gauges of a queue, and those of a group.
const OF_QUEUE: [&str; 4] = [
    "evenkeel_console_queue_late_seconds",
    "evenkeel_console_queue_due",
    "evenkeel_console_queue_idle",
    "evenkeel_console_queue_dead",
];
const OF_GROUP: [&str; 4] = [
    "evenkeel_console_stream_late_seconds",
    "evenkeel_console_stream_oldest_pending_seconds",
    "evenkeel_console_stream_dead",
    "evenkeel_console_stream_missing",
];

/// The queues, and the groups of streams, whose gauges are not 0 for good.
#[derive(Default)]
pub(super) struct Export {
    queues: Mutex<BTreeSet<String>>,
    groups: Mutex<BTreeSet<(String, String)>>,
}

impl Export {
    /// Sets the gauges. Those of a server that was not read keep their values; its last success tells their age. Those of a queue or group that
    /// is gone become 0: the recorder cannot remove them, and an alert on them would never end.
    pub(super) fn set(&self, snapshot: &Snapshot, has_database: bool) {
        if snapshot.at > 0 && snapshot.failed.is_none() {
            gauge!("evenkeel_console_reading_last_success_seconds").set(snapshot.at as f64 / 1_000.0);
            for topic in &snapshot.topics {
                set(OF_QUEUE, values::of_topic(&topic.stats), &of_queue(&topic.name));
            }
            let here = snapshot.topics.iter().map(|topic| topic.name.clone()).collect();
            for name in gone(&self.queues, here) {
                set(OF_QUEUE, [0.0; 4], &of_queue(&name));
            }
        }
        if snapshot.at > 0 && snapshot.streams_failed.is_none() {
            let groups = || {
                snapshot.streams.iter().flat_map(|stream| stream.groups.iter().map(move |group| (&stream.name, group)))
            };
            for (stream, group) in groups() {
                set(OF_GROUP, values::of_group(group), &of_group(stream, &group.name));
            }
            let here = groups().map(|(stream, group)| (stream.clone(), group.name.clone())).collect();
            for (stream, group) in gone(&self.groups, here) {
                set(OF_GROUP, [0.0; 4], &of_group(&stream, &group));
            }
        }
        if has_database {
            gauge!("evenkeel_console_database_up").set(if snapshot.outbox_failed.is_none() { 1.0 } else { 0.0 });
        }
        if let Some(outbox) = &snapshot.outbox {
            let [lag_seconds, parked] = values::of_outbox(outbox);
            gauge!("evenkeel_console_outbox_lag_seconds").set(lag_seconds);
            gauge!("evenkeel_console_outbox_parked").set(parked);
        }
    }
}

/// Those that were there at the last reading, and are not among `here`.
fn gone<T: Ord + Clone>(before: &Mutex<BTreeSet<T>>, here: BTreeSet<T>) -> Vec<T> {
    let mut before = before.lock();
    let gone = before.difference(&here).cloned().collect();
    *before = here;
    gone
}

fn of_queue(name: &str) -> Vec<Label> {
    vec![Label::new("queue", name.to_owned())]
}

fn of_group(stream: &str, group: &str) -> Vec<Label> {
    vec![Label::new("stream", stream.to_owned()), Label::new("group", group.to_owned())]
}

fn set(names: [&'static str; 4], values: [f64; 4], labels: &[Label]) {
    for (name, value) in names.into_iter().zip(values) {
        gauge!(name, labels.to_vec()).set(value);
    }
}
