//! `ls` and `stats`: the statistics of topics.

use super::Servers;
use super::change::TopicArgument;
use crate::listing::Listing;
use crate::output::{Output, table};
use crate::prefixes;
use crate::time;
use crate::trouble;
use anyhow::Result;
use evenkeel::queue::QueueError;
use evenkeel::queue::topic::{self, Topic, TopicStats};
use serde_json::{Value, json};

pub(super) async fn list(servers: &Servers<'_>, output: Output) -> Result<bool> {
    let all = super::listing(servers, &[]).await?;
    prefixes::print(&servers.keel, &all, ("queues", prefixes::TOPICS), output).await
}

pub(super) async fn stats(servers: &Servers<'_>, arguments: &TopicArgument, output: Output) -> Result<bool> {
    let topic = super::topic(servers, &arguments.topic).await?;
    let stats = topic.stats().await?;
    output.print(&json(&topic, &stats), &(text(&topic, &stats) + super::redis_only(&topic)))?;
    Ok(true)
}

/// The statistics of each topic. One that Redis rejects hides no other.
pub(super) async fn listing(topics: topic::Listing<Topic, QueueError>) -> Result<Listing> {
    let (mut rows, mut ranks, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut read = topic::Listing { found: Vec::new(), rejected: topics.rejected };
    for topic in topics.found {
        let stats = topic.stats().await.map(|stats| (topic.clone(), stats));
        read.note(topic.name(), stats, QueueError::is_retryable)?;
    }
    for (topic, stats) in &read.found {
        let total = &stats.total;
        let late = if total.ready == 0 { "-".to_owned() } else { time::span(stats.late_ms()) };
        rows.push(vec![
            topic.name().to_owned(),
            total.waiting().to_string(),
            total.ready.to_string(),
            late,
            total.leased.to_string(),
            total.dead.to_string(),
            total.totals.done.to_string(),
            state(stats),
        ]);
        ranks.push(trouble::of_topic(stats));
        values.push(json(topic, stats));
    }
    Ok(Listing {
        headings: vec!["TOPIC", "WAITING", "DUE", "LATE", "RUNNING", "DEAD", "DONE", "STATE"],
        rows,
        ranks,
        empty: "no queues under this prefix; `evenkeel queue ls` lists the prefixes that have queues".to_owned(),
        notes: Vec::new(),
        rejected: read.rejected.iter().map(ToString::to_string).collect(),
        value: Value::Array(values),
    })
}

fn state(stats: &TopicStats) -> String {
    match stats.total.paused_until {
        None if stats.total.workers == 0 => "no workers".to_owned(),
        None => "active".to_owned(),
        Some(u64::MAX) => "paused".to_owned(),
        Some(until) => format!("paused until {}", time::text(until)),
    }
}

fn text(topic: &Topic, stats: &TopicStats) -> String {
    let total = &stats.total;
    let [urgent, high, normal, low] = total.waiting;
    let oldest = total
        .oldest_due
        .map_or_else(|| "-".to_owned(), |due| format!("{} ({})", time::text(due), time::distance(due, total.now)));
    let totals = total.totals;
    let rows = [
        ("state", state(stats)),
        ("shards", topic.shards().to_string()),
        ("waiting", format!("{} (urgent {urgent}, high {high}, normal {normal}, low {low})", total.waiting())),
        ("rows in SQL", stats.rows.map_or_else(|| "-".to_owned(), |rows| rows.to_string())),
        ("due now", total.ready.to_string()),
        ("oldest due", oldest),
        ("running", format!("{} ({} with an expired lease)", total.leased, total.lease_expired)),
        ("dead letters", total.dead.to_string()),
        ("workers", total.workers.to_string()),
        ("bytes", total.bytes.to_string()),
        ("created", totals.created.to_string()),
        ("done", totals.done.to_string()),
        ("retried", totals.retried.to_string()),
        ("expired leases, crashes", format!("{}, {}", totals.lease_expired, totals.crashed)),
        ("died, redriven", format!("{}, {}", totals.died, totals.redriven)),
        ("expired, discarded", format!("{}, {}", totals.expired, totals.discarded)),
        ("revoked, deleted", format!("{}, {}", totals.revoked, totals.deleted)),
        ("lost by Redis", totals.ghosts.to_string()),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    table(&["TOPIC", topic.name()], &rows)
}

fn json(topic: &Topic, stats: &TopicStats) -> Value {
    let total = &stats.total;
    let totals = total.totals;
    let [urgent, high, normal, low] = total.waiting;
    json!({
        "topic": topic.name(),
        "shards": topic.shards(),
        "now_ms": total.now,
        "rows": stats.rows,
        "redis_only": topic.needs_database(),
        "waiting": total.waiting(),
        "waiting_by_priority": { "urgent": urgent, "high": high, "normal": normal, "low": low },
        "due": total.ready,
        "oldest_due_ms": total.oldest_due,
        "late_ms": stats.late_ms(),
        "running": total.leased,
        "lapsed": total.lease_expired,
        "dead": total.dead,
        "workers": total.workers,
        "bytes": total.bytes,
        "paused": total.paused_until.is_some(),
        "paused_until_ms": total.paused_until.filter(|until| *until != u64::MAX),
        "totals": {
            "created": totals.created, "done": totals.done, "retried": totals.retried,
            "lapsed": totals.lease_expired, "crashed": totals.crashed, "died": totals.died,
            "expired": totals.expired, "discarded": totals.discarded, "revoked": totals.revoked,
            "redriven": totals.redriven, "deleted": totals.deleted, "lost": totals.ghosts,
        },
    })
}
