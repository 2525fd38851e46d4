//! `ls`, `stats`, `park ls`.

use crate::output::{Output, table_or, truncated};
use crate::time;
use anyhow::Result;
use evenkeel::sql::Database;
use evenkeel::sql::relay::operate::{Outbox, OutboxStats, SeenKey, SeenWork, WorkState};
use serde_json::{Value, json};

/// Maximum width of a table cell.
const WIDTH: usize = 60;

#[derive(clap::Args)]
pub(super) struct PageArguments {
    /// Maximum number of units of work, and of keys
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    limit: u16,
}

pub(super) async fn ls<DB: Database>(outbox: &Outbox<DB>, page: &PageArguments, output: Output) -> Result<bool> {
    show(outbox, page, WorkState::Waiting, output).await?;
    Ok(true)
}

/// Returns false if anything is parked.
pub(super) async fn parked<DB: Database>(outbox: &Outbox<DB>, page: &PageArguments, output: Output) -> Result<bool> {
    Ok(show(outbox, page, WorkState::Parked, output).await? == 0)
}

async fn show<DB: Database>(
    outbox: &Outbox<DB>,
    page: &PageArguments,
    place: WorkState,
    output: Output,
) -> Result<usize> {
    let limit = usize::from(page.limit);
    let works = outbox.works(place, None, limit).await?;
    let keys = outbox.keys(place == WorkState::Parked, (String::new(), String::new()), limit).await?;
    let now = outbox.stats().await?.now_ms;
    let rows: Vec<Vec<String>> = works.iter().map(|work| work_row(work, now)).collect();
    let is_parked = place == WorkState::Parked;
    let empty = if is_parked { "no unit of work is parked" } else { "no unit of work is pending" };
    let mut text = table_or(&["WORK", "CREATED", "DUE", "ATTEMPTS", "EFFECTS", "LAST ERROR"], &rows, empty);
    let rows: Vec<Vec<String>> = keys.iter().map(|key| key_row(key, now)).collect();
    let empty = if is_parked { "no key is parked" } else { "no key has unsent messages" };
    text.push('\n');
    text.push_str(&table_or(&["TOPIC", "KEY", "SENT", "LAST", "DUE", "ATTEMPTS", "LAST ERROR"], &rows, empty));
    let value = json!({
        "works": works.iter().map(work_json).collect::<Vec<_>>(),
        "keys": keys.iter().map(key_json).collect::<Vec<_>>(),
    });
    output.print(&value, &text)?;
    Ok(works.len() + keys.len())
}

fn due(due_ms: Option<u64>, is_claimed: bool, now: u64) -> String {
    match due_ms {
        None => "parked".to_owned(),
        Some(_) if is_claimed => "claimed".to_owned(),
        Some(ms) => time::distance(ms, now),
    }
}

fn work_row(work: &SeenWork, now: u64) -> Vec<String> {
    vec![
        work.id.to_string(),
        time::distance(work.created_ms, now),
        due(work.due_ms, work.is_claimed, now),
        work.attempts.to_string(),
        truncated(&work.effects.join(", "), WIDTH),
        truncated(work.error.as_deref().unwrap_or_default(), WIDTH),
    ]
}

fn work_json(work: &SeenWork) -> Value {
    json!({
        "id": work.id.to_string(), "attempts": work.attempts, "created_ms": work.created_ms, "due_ms": work.due_ms,
        "claimed": work.is_claimed, "effects": work.effects, "error": work.error,
    })
}

fn key_row(key: &SeenKey, now: u64) -> Vec<String> {
    let due = if key.parked_ms.is_some() { "parked".to_owned() } else { due(key.due_ms, key.is_claimed, now) };
    vec![
        truncated(&key.topic, WIDTH),
        truncated(&key.key, WIDTH),
        key.sent.to_string(),
        key.last.to_string(),
        due,
        key.attempts.to_string(),
        truncated(key.error.as_deref().unwrap_or_default(), WIDTH),
    ]
}

fn key_json(key: &SeenKey) -> Value {
    json!({
        "topic": key.topic, "key": key.key, "sent": key.sent, "last": key.last, "attempts": key.attempts,
        "due_ms": key.due_ms, "parked_ms": key.parked_ms, "claimed": key.is_claimed, "error": key.error,
    })
}

pub(super) async fn stats<DB: Database>(outbox: &Outbox<DB>, output: Output) -> Result<bool> {
    let stats = outbox.stats().await?;
    let OutboxStats {
        waiting,
        done,
        aborted,
        parked,
        messages,
        keys,
        keys_waiting,
        keys_parked,
        unrouted,
        unknown,
        now_ms,
        ..
    } = stats;
    let age = |since: Option<u64>| since.map_or_else(|| "-".to_owned(), |ms| time::span(now_ms.saturating_sub(ms)));
    let mut text = format!(
        "units of work    {waiting} pending (oldest {}), {parked} parked, {done} completed, {aborted} aborted\n\
         messages         {messages} unsent (oldest {})\n\
         keys             {keys} in total, {keys_waiting} with unsent messages, {keys_parked} parked\n",
        age(stats.oldest_ms),
        age(stats.oldest_message_ms),
    );
    if unrouted > 0 {
        text.push_str(&format!(
            "without sink     {unrouted} units of work and keys have a topic that no relay has a sink for: see `outbox ls`\n"
        ));
    }
    if unknown > 0 {
        text.push_str(&format!(
            "unknown state    {unknown} rows were written by a newer version: update this program\n"
        ));
    }
    let value = json!({
        "works": { "waiting": waiting, "parked": parked, "done": done, "aborted": aborted, "oldest_ms": stats.oldest_ms },
        "messages": { "waiting": messages, "oldest_ms": stats.oldest_message_ms },
        "keys": { "all": keys, "waiting": keys_waiting, "parked": keys_parked },
        "unrouted": unrouted, "unknown": unknown,
        "now_ms": now_ms,
    });
    output.print(&value, &text)?;
    Ok(true)
}
