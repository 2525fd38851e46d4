//! `ls`, `stats`, `park ls`.

use crate::listing::Listing;
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
    let units = outbox.units(place, None, limit).await?;
    let keys = outbox.keys(place == WorkState::Parked, (String::new(), String::new()), limit).await?;
    let now = outbox.stats().await?.now_ms;
    let rows: Vec<Vec<String>> = units.iter().map(|work| work_row(work, now)).collect();
    let is_parked = place == WorkState::Parked;
    let empty = if is_parked { "no unit of work is parked" } else { "no unit of work is pending" };
    let mut text = table_or(&["WORK", "CREATED", "DUE", "ATTEMPTS", "EFFECTS", "LAST ERROR"], &rows, empty);
    let rows: Vec<Vec<String>> = keys.iter().map(|key| key_row(key, now)).collect();
    let empty = if is_parked { "no key is parked" } else { "no key has unsent messages" };
    text.push('\n');
    text.push_str(&table_or(&["TOPIC", "KEY", "SENT", "LAST", "DUE", "ATTEMPTS", "LAST ERROR"], &rows, empty));
    let value = json!({
        "works": units.iter().map(work_json).collect::<Vec<_>>(),
        "keys": keys.iter().map(key_json).collect::<Vec<_>>(),
    });
    output.print(&value, &text)?;
    Ok(units.len() + keys.len())
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
    let OutboxStats { waiting, done, aborted, parked, messages, keys, keys_waiting, keys_parked, .. } = stats;
    let mut text = format!(
        "units of work    {waiting} pending (oldest {}), {parked} parked, {done} completed, {aborted} aborted\n\
         messages         {messages} unsent (oldest {})\n\
         keys             {keys} in total, {keys_waiting} with unsent messages, {keys_parked} parked\n",
        age(stats.oldest_ms, stats.now_ms),
        age(stats.oldest_message_ms, stats.now_ms),
    );
    warnings(&stats).iter().for_each(|warning| text.push_str(&format!("{warning}\n")));
    output.print(&stats_json(&stats), &text)?;
    Ok(true)
}

/// The statistics, as a table: the units of work, their ordered messages, and the keys of these.
pub(super) async fn listing<DB: Database>(outbox: &Outbox<DB>) -> Result<Listing> {
    let stats = outbox.stats().await?;
    let OutboxStats { waiting, done, aborted, parked, messages, keys_waiting, keys_parked, .. } = stats;
    let (units_age, messages_age) = (age(stats.oldest_ms, stats.now_ms), age(stats.oldest_message_ms, stats.now_ms));
    let [waiting, done, aborted, parked, messages, keys_waiting, keys_parked] =
        [waiting, done, aborted, parked, messages, keys_waiting, keys_parked].map(|number| number.to_string());
    let row = |cells: [&str; 6]| cells.map(str::to_owned).to_vec();
    Ok(Listing {
        headings: vec!["ENTRIES", "PENDING", "OLDEST", "PARKED", "COMPLETED", "ABORTED"],
        rows: vec![
            row(["units of work", &waiting, &units_age, &parked, &done, &aborted]),
            row(["messages", &messages, &messages_age, "-", "-", "-"]),
            row(["keys", &keys_waiting, "-", &keys_parked, "-", "-"]),
        ],
        ranks: Vec::new(),
        empty: String::new(),
        notes: warnings(&stats),
        rejected: Vec::new(),
        value: stats_json(&stats),
    })
}

fn age(since_ms: Option<u64>, now_ms: u64) -> String {
    since_ms.map_or_else(|| "-".to_owned(), |ms| time::span(now_ms.saturating_sub(ms)))
}

/// A line for each number that should be 0.
fn warnings(stats: &OutboxStats) -> Vec<String> {
    let OutboxStats { unrouted, unknown, .. } = stats;
    let mut warnings = Vec::new();
    if *unrouted > 0 {
        warnings.push(format!(
            "without sink     {unrouted} units of work and keys have a topic that no relay has a sink for: see `outbox ls`"
        ));
    }
    if *unknown > 0 {
        warnings.push(format!("unknown state    {unknown} rows were written by a newer version: update this program"));
    }
    warnings
}

fn stats_json(stats: &OutboxStats) -> Value {
    json!({
        "works": {
            "waiting": stats.waiting, "parked": stats.parked, "done": stats.done, "aborted": stats.aborted,
            "oldest_ms": stats.oldest_ms,
        },
        "messages": { "waiting": stats.messages, "oldest_ms": stats.oldest_message_ms },
        "keys": { "all": stats.keys, "waiting": stats.keys_waiting, "parked": stats.keys_parked },
        "unrouted": stats.unrouted, "unknown": stats.unknown,
        "now_ms": stats.now_ms,
    })
}
