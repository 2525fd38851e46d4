//! The figures of a reading as metrics, so that Prometheus needs no exporter for Redis and the database.

use super::Snapshot;
use crate::stream::figures::{self, Figures};
use metrics::gauge;

/// Sets the gauges. Those of a server that was not read keep their values; its last success tells their age.
pub(super) fn export(snapshot: &Snapshot, has_database: bool) {
    if snapshot.at > 0 && snapshot.failed.is_none() {
        gauge!("evenkeel_console_reading_last_success_seconds").set(snapshot.at as f64 / 1_000.0);
        for topic in &snapshot.topics {
            let (name, total) = (topic.name.clone(), &topic.stats.total);
            let is_paused = total.paused_until.is_some();
            let late_ms = if is_paused { 0 } else { topic.stats.late_ms() };
            let idle = if total.workers == 0 && !is_paused { total.ready } else { 0 };
            gauge!("evenkeel_console_queue_late_seconds", "queue" => name.clone()).set(late_ms as f64 / 1_000.0);
            gauge!("evenkeel_console_queue_due", "queue" => name.clone()).set(total.ready as f64);
            gauge!("evenkeel_console_queue_idle", "queue" => name.clone()).set(idle as f64);
            gauge!("evenkeel_console_queue_dead", "queue" => name).set(total.dead as f64);
        }
    }
    if snapshot.at > 0 && snapshot.streams_failed.is_none() {
        snapshot.streams.iter().for_each(stream);
    }
    if has_database {
        gauge!("evenkeel_console_database_up").set(if snapshot.outbox_failed.is_none() { 1.0 } else { 0.0 });
    }
    if let Some(outbox) = &snapshot.outbox {
        let oldest = outbox.oldest_ms.into_iter().chain(outbox.oldest_message_ms).min();
        let lag_ms = oldest.map_or(0, |oldest| outbox.now_ms.saturating_sub(oldest));
        gauge!("evenkeel_console_outbox_lag_seconds").set(lag_ms as f64 / 1_000.0);
        gauge!("evenkeel_console_outbox_parked").set((outbox.parked + outbox.keys_parked) as f64);
    }
}

fn stream(figures: &Figures) {
    for group in &figures.groups {
        let labels = || [("stream", figures.name.clone()), ("group", group.name.clone())];
        let late_ms = if group.is_paused() { 0 } else { figures::late_ms(group).unwrap_or(0) };
        gauge!("evenkeel_console_stream_late_seconds", &labels()).set(late_ms as f64 / 1_000.0);
        let oldest_ms = figures::oldest_pending_ms(group).unwrap_or(0);
        gauge!("evenkeel_console_stream_oldest_pending_seconds", &labels()).set(oldest_ms as f64 / 1_000.0);
        gauge!("evenkeel_console_stream_dead", &labels()).set(group.dead() as f64);
        gauge!("evenkeel_console_stream_missing", &labels()).set(if group.is_missing() { 1.0 } else { 0.0 });
    }
}
