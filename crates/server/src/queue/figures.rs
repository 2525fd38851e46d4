//! `ls` and `stats`: how the topics are.

use super::Desk;
use super::output::{Output, table};
use super::prefixes;
use super::time;
use anyhow::Result;
use evenkeel::queue::topic::{Topic, TopicStats};
use serde_json::{Value, json};

/// What `stats` was asked for.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which topic
    topic: String,
}

pub(super) async fn list(desk: &Desk<'_>, output: Output) -> Result<bool> {
    let topics = super::topics(desk, &[]).await?;
    let (rows, values) = look(&topics).await?;
    if !rows.is_empty() {
        output.print(&Value::Array(values), &table(&HEADINGS, &rows))?;
        return Ok(true);
    }
    let found = prefixes::find(&desk.keel).await?;
    let hint = prefixes::hint(desk.keel.link().map(|link| link.prefix()).unwrap_or_default(), &found);
    output.print(&Value::Array(values), "")?;
    eprintln!("{hint}");
    // The queues are elsewhere: the answer to the question is no.
    Ok(found.is_empty())
}

pub(super) async fn stats(desk: &Desk<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let topic = super::topic(desk, &arguments.topic).await?;
    let stats = topic.stats().await?;
    output.print(&json(&topic, &stats), &(text(&topic, &stats) + super::redis_only(&topic)))?;
    Ok(true)
}

/// Headings of [`look`].
pub(super) const HEADINGS: [&str; 8] = ["TOPIC", "WAITING", "DUE", "LATE", "RUNNING", "DEAD", "DONE", "STATE"];

/// A row and a value for each topic.
pub(super) async fn look(topics: &[Topic]) -> Result<(Vec<Vec<String>>, Vec<Value>)> {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for topic in topics {
        let stats = topic.stats().await?;
        let total = &stats.total;
        let late = if total.ready == 0 { "-".to_owned() } else { time::span(stats.late_ms()) };
        let figures = [total.waiting(), total.ready];
        let mut row = vec![topic.name().to_owned()];
        row.extend(figures.map(|figure| figure.to_string()));
        row.push(late);
        row.extend([total.leased, total.dead, total.totals.done].map(|figure| figure.to_string()));
        row.push(state(&stats));
        rows.push(row);
        values.push(json(topic, &stats));
    }
    Ok((rows, values))
}

fn state(stats: &TopicStats) -> String {
    match stats.total.paused_until {
        None if stats.total.workers == 0 => "no workers".to_owned(),
        None => "open".to_owned(),
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
    let happened = total.totals;
    let rows = [
        ("state", state(stats)),
        ("shards", topic.shards().to_string()),
        ("waiting", format!("{} (urgent {urgent}, high {high}, normal {normal}, low {low})", total.waiting())),
        ("rows in SQL", stats.rows.map_or_else(|| "-".to_owned(), |rows| rows.to_string())),
        ("due now", total.ready.to_string()),
        ("oldest due", oldest),
        ("running", format!("{} ({} silent past their lease)", total.leased, total.lapsed)),
        ("dead letters", total.dead.to_string()),
        ("workers", total.workers.to_string()),
        ("bytes", total.bytes.to_string()),
        ("created", happened.created.to_string()),
        ("done", happened.done.to_string()),
        ("retried", happened.retried.to_string()),
        ("lapsed, crashed", format!("{}, {}", happened.lapsed, happened.crashed)),
        ("died, redriven", format!("{}, {}", happened.died, happened.redriven)),
        ("expired, discarded", format!("{}, {}", happened.expired, happened.discarded)),
        ("revoked, deleted", format!("{}, {}", happened.revoked, happened.deleted)),
        ("lost by Redis", happened.ghosts.to_string()),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, figure)| vec![name.to_owned(), figure]).collect();
    table(&["TOPIC", topic.name()], &rows)
}

/// The same figures by name.
fn json(topic: &Topic, stats: &TopicStats) -> Value {
    let total = &stats.total;
    let happened = total.totals;
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
        "lapsed": total.lapsed,
        "dead": total.dead,
        "workers": total.workers,
        "bytes": total.bytes,
        "paused": total.paused_until.is_some(),
        "paused_until_ms": total.paused_until.filter(|until| *until != u64::MAX),
        "totals": {
            "created": happened.created, "done": happened.done, "retried": happened.retried,
            "lapsed": happened.lapsed, "crashed": happened.crashed, "died": happened.died,
            "expired": happened.expired, "discarded": happened.discarded, "revoked": happened.revoked,
            "redriven": happened.redriven, "deleted": happened.deleted, "lost": happened.ghosts,
        },
    })
}
