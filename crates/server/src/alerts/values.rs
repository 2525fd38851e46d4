//! The values that the rules are about, which the console exports for Prometheus, too.

use crate::stream::figures;
use evenkeel::queue::topic::TopicStats;
use evenkeel::sql::relay::operate::OutboxStats;
use evenkeel::stream::admin::GroupState;

/// Of a topic: the lateness of the oldest due job in seconds, the due jobs, those that no consumer claims, the dead letters.
pub(crate) fn of_topic(stats: &TopicStats) -> [f64; 4] {
    let total = &stats.total;
    let is_paused = total.paused_until.is_some();
    let late_ms = if is_paused { 0 } else { stats.late_ms() };
    let idle = if total.workers == 0 && !is_paused { total.ready } else { 0 };
    [late_ms as f64 / 1_000.0, total.ready as f64, idle as f64, total.dead as f64]
}

/// Of a group: the lateness of the oldest unread entry and the age of the oldest pending one in seconds, the dead letters, and 1 if Redis has
/// lost it in a partition.
pub(crate) fn of_group(group: &GroupState) -> [f64; 4] {
    let late_ms = if group.is_paused() { 0 } else { figures::late_ms(group).unwrap_or(0) };
    let oldest_ms = figures::oldest_pending_ms(group).unwrap_or(0);
    let missing = if group.is_missing() { 1.0 } else { 0.0 };
    [late_ms as f64 / 1_000.0, oldest_ms as f64 / 1_000.0, group.dead() as f64, missing]
}

/// Of an outbox: the age of the oldest unit of work or message in seconds, and the parked units of work and keys.
pub(crate) fn of_outbox(stats: &OutboxStats) -> [f64; 2] {
    let oldest = stats.oldest_ms.into_iter().chain(stats.oldest_message_ms).min();
    let lag_ms = oldest.map_or(0, |oldest| stats.now_ms.saturating_sub(oldest));
    [lag_ms as f64 / 1_000.0, (stats.parked + stats.keys_parked) as f64]
}
