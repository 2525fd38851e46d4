//! `ls`, `show`, `groups` and `lag`: the state of streams and of their groups.

use super::figures::{self, Figures};
use crate::listing::{Listing, missing};
use crate::output::{Output, table, table_or};
use crate::prefixes;
use crate::time;
use crate::trouble;
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::stream::admin::{GroupState, GroupStats, Listing as Streams};
use evenkeel::stream::{EntryId, StreamError};
use evenkeel_link::support::guard;
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(super) struct StreamArgument {
    /// Stream
    stream: String,
}

#[derive(clap::Args)]
pub(super) struct LagArguments {
    /// Only these streams
    #[arg(value_name = "STREAM")]
    streams: Vec<String>,
    /// Only this group
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Exit with 1 if the oldest unread entry of a group is older than this
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    late: Option<u64>,
    /// Exit with 1 if a group has more unread entries than this
    #[arg(long, value_name = "NUMBER")]
    entries: Option<u64>,
}

pub(super) async fn list(keel: &Keel, output: Output) -> Result<bool> {
    prefixes::print(keel, &listing(keel).await?, ("streams", prefixes::STREAMS), output).await
}

/// All streams, with what their groups have not settled.
pub(crate) async fn listing(keel: &Keel) -> Result<Listing> {
    let (mut rows, mut ranks, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let streams = keel.streams().await?;
    let mut read = Streams { found: Vec::new(), rejected: streams.rejected };
    for stream in streams.found {
        read.note(stream.name(), Figures::read(&stream).await, StreamError::is_retryable)?;
    }
    for figures in &read.found {
        rows.push(vec![
            figures.name.clone(),
            figures.partitions.to_string(),
            figures.entries().map_or_else(|| "-".to_owned(), |entries| entries.to_string()),
            figures.groups.len().to_string(),
            figures::span(figures.late_ms()),
            figures.pending().to_string(),
            figures.dead().to_string(),
            figures.state().to_owned(),
        ]);
        ranks.push(trouble::of_stream(figures));
        values.push(json!({
            "stream": figures.name, "partitions": figures.partitions, "entries": figures.entries(),
            "groups": figures.groups.len(), "late_ms": figures.late_ms(), "pending": figures.pending(),
            "dead": figures.dead(), "state": figures.state(),
        }));
    }
    Ok(Listing {
        headings: vec!["STREAM", "PARTITIONS", "ENTRIES", "GROUPS", "LATE", "PENDING", "DEAD", "STATE"],
        rows,
        ranks,
        empty: "no streams under this prefix; `evenkeel stream ls` lists the prefixes that have streams".to_owned(),
        notes: Vec::new(),
        rejected: read.rejected.iter().map(ToString::to_string).collect(),
        value: Value::Array(values),
    })
}

pub(super) async fn groups(keel: &Keel, arguments: &StreamArgument, output: Output) -> Result<bool> {
    let figures = Figures::read(&keel.stream_admin(&arguments.stream).await?).await?;
    let rows: Vec<Vec<String>> = figures.groups.iter().map(row).collect();
    let headings =
        ["GROUP", "ORDER", "UNREAD", "LATE", "PENDING", "OLDEST PENDING", "DELAYED", "DEAD", "OWNED", "STATE"];
    let text = table_or(&headings, &rows, &no_groups(&figures.name));
    output.print(&Value::Array(figures.groups.iter().map(group_json).collect()), &text)?;
    Ok(true)
}

fn no_groups(stream: &str) -> String {
    format!("stream {stream}: no groups; a consumer of a group creates it")
}

fn row(group: &GroupState) -> Vec<String> {
    vec![
        group.name.clone(),
        figures::mode(group.mode).to_owned(),
        figures::entries(group.lag_entries()),
        figures::span(figures::late_ms(group)),
        group.pending().to_string(),
        figures::span(figures::oldest_pending_ms(group)),
        figures::delayed(group).to_string(),
        group.dead().to_string(),
        format!("{} of {}", figures::owned(group), group.partitions.len()),
        figures::state(group),
    ]
}

fn group_json(group: &GroupState) -> Value {
    json!({
        "group": group.name,
        "order": figures::mode(group.mode),
        "unread": group.lag_entries(),
        "late_ms": figures::late_ms(group),
        "pending": group.pending(),
        "oldest_pending_ms": figures::oldest_pending_ms(group),
        "delayed": figures::delayed(group),
        "dead": group.dead(),
        "parked_keys": figures::parked_keys(group),
        "owned": figures::owned(group),
        "missing": group.is_missing(),
        "paused": group.is_paused(),
        "paused_until_ms": figures::paused_until(group).filter(|until| *until != u64::MAX),
    })
}

pub(super) async fn show(keel: &Keel, arguments: &StreamArgument, output: Output) -> Result<bool> {
    let figures = Figures::read(&keel.stream_admin(&arguments.stream).await?).await?;
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for group in &figures.groups {
        for (partition, stats) in group.partitions.iter().enumerate() {
            rows.push(partition_row(&group.name, partition, stats.as_ref()));
            values.push(partition_json(&group.name, partition, stats.as_ref()));
        }
    }
    let entries = figures.entries().map_or_else(String::new, |entries| format!(", {entries} entries"));
    let headings =
        ["GROUP", "PARTITION", "ENTRIES", "LAST", "POSITION", "UNREAD", "PENDING", "DELAYED", "DEAD", "LEASE", "FENCE"];
    let head = format!("stream {}: {} partitions{entries}\n", figures.name, figures.partitions);
    let text = head + &table_or(&headings, &rows, &no_groups(&figures.name));
    let groups: Vec<Value> = figures.groups.iter().map(group_json).collect();
    let value = json!({
        "stream": figures.name, "partitions": figures.partitions, "entries": figures.entries(), "groups": groups,
        "partitions_of_groups": values,
    });
    output.print(&value, &text)?;
    Ok(true)
}

fn partition_row(group: &str, partition: usize, stats: Option<&GroupStats>) -> Vec<String> {
    let mut row = vec![group.to_owned(), partition.to_string()];
    let Some(stats) = stats else {
        row.extend(["missing".to_owned()]);
        return row;
    };
    let lease = |(_, _, left): (_, u64, u64)| if left > 0 { time::span(left) } else { "expired".to_owned() };
    row.extend([
        stats.length.to_string(),
        id(stats.tail),
        id(stats.position),
        figures::entries(stats.unread_entries),
        stats.pending.to_string(),
        stats.delayed.to_string(),
        stats.dead.to_string(),
        stats.owner.map_or_else(|| "-".to_owned(), lease),
        stats.owner.map_or_else(|| "-".to_owned(), |(_, fence, _)| fence.to_string()),
    ]);
    row
}

fn partition_json(group: &str, partition: usize, stats: Option<&GroupStats>) -> Value {
    let Some(stats) = stats else { return json!({ "group": group, "partition": partition, "missing": true }) };
    json!({
        "group": group, "partition": partition, "missing": false, "entries": stats.length, "last": id(stats.tail),
        "position": id(stats.position), "first_unread": stats.unread.map(id), "unread": stats.unread_entries,
        "pending": stats.pending, "oldest_pending": stats.oldest_pending.map(id), "delayed": stats.delayed, "dead": stats.dead,
        "parked_keys": stats.parked_keys, "epoch": stats.epoch,
        "owner": stats.owner.map(|(owner, fence, left)| json!({ "token": format!("{owner:?}"), "fence": fence, "lease_left_ms": left })),
    })
}

fn id(id: EntryId) -> String {
    if id == EntryId::MIN { "-".to_owned() } else { id.to_string() }
}

pub(super) async fn lag(keel: &Keel, arguments: &LagArguments, output: Output) -> Result<bool> {
    let mut streams = Streams::default();
    for name in &arguments.streams {
        streams.found.push(keel.stream_admin(name).await?);
    }
    if streams.found.is_empty() {
        streams = keel.streams().await?;
    }
    let mut read = Streams { found: Vec::new(), rejected: streams.rejected };
    for stream in &streams.found {
        let groups = figures::groups(stream).await.map(|groups| (stream, groups));
        read.note(stream.name(), groups, StreamError::is_retryable)?;
    }
    let (mut rows, mut values, mut is_fine) = (Vec::new(), Vec::new(), true);
    for (stream, groups) in &read.found {
        for group in groups {
            if arguments.group.as_ref().is_some_and(|name| *name != group.name) {
                continue;
            }
            let (late, unread) = (figures::late_ms(group), group.lag_entries());
            // A group that Redis has lost reads nothing, and an unknown number may be above the limit.
            let is_behind = (group.is_missing() && guard("stream_command_missing_is_behind"))
                || arguments.late.is_some_and(|max| late.is_some_and(|late| late > max))
                || arguments.entries.is_some_and(|max| late.is_some() && unread.is_none_or(|unread| unread > max));
            is_fine &= !is_behind;
            let mark = if is_behind { "behind" } else { "" };
            let (stream, state) = (stream.name(), figures::state(group));
            values.push(json!({
                "stream": stream, "group": group.name, "unread": unread, "late_ms": late, "pending": group.pending(),
                "oldest_pending_ms": figures::oldest_pending_ms(group), "state": state, "behind": is_behind,
            }));
            rows.push(vec![
                stream.to_owned(),
                group.name.clone(),
                figures::entries(unread),
                figures::span(late),
                group.pending().to_string(),
                figures::span(figures::oldest_pending_ms(group)),
                state,
                mark.to_owned(),
            ]);
        }
    }
    if let Some(group) = arguments.group.as_ref().filter(|_| rows.is_empty() && read.rejected.is_empty()) {
        bail!("no stream has a group {group}; `evenkeel stream lag` lists all groups");
    }
    let headings = ["STREAM", "GROUP", "UNREAD", "LATE", "PENDING", "OLDEST PENDING", "STATE", ""];
    // That there is none is not known.
    let empty = if read.rejected.is_empty() { "no groups\n" } else { "" };
    let text = if rows.is_empty() { empty.to_owned() } else { table(&headings, &rows) };
    output.print(&Value::Array(values), &text)?;
    missing(&read.rejected)?;
    Ok(is_fine)
}
