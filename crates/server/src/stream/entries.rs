//! `peek`: the entries of a stream, page by page.

use crate::output::{Output, body_json, next_page, printable, table_or, truncated};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::stream::EntryId;
use evenkeel::stream::admin::{LetterId, Peeked};
use serde_json::{Value, json};

/// Maximum width of a key or a value in a table.
pub(super) const CELL_MAX: usize = 48;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Stream
    stream: String,
    /// Only this partition, counted from 0
    #[arg(long, value_name = "NUMBER")]
    partition: Option<u16>,
    /// Entries per page
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Begin with the first entry that was appended at this time or later
    #[arg(long, value_name = "TIME", value_parser = time::read_time, conflicts_with = "after")]
    from: Option<u64>,
    /// Continue after this entry: the cursor printed at the end of the previous page
    #[arg(long, value_name = "PARTITION:ID", value_parser = read_place)]
    after: Option<LetterId>,
}

/// Parses `0:1700000000000-0`.
pub(super) fn read_place(text: &str) -> Result<LetterId, String> {
    text.parse().map_err(|_| "use PARTITION:ID as the program prints it, for example 0:1700000000000-0".to_owned())
}

pub(super) async fn peek(keel: &Keel, arguments: &Arguments, output: Output) -> Result<bool> {
    let stream = keel.stream_admin(&arguments.stream).await?;
    if let (Some(partition), Some(after)) = (arguments.partition, arguments.after)
        && partition != after.partition
    {
        bail!("--after {after} is in partition {}, and --partition is {partition}: omit one of them", after.partition);
    }
    let limit = usize::from(arguments.limit);
    let begin = match arguments.from {
        // Ids are above it in the same millisecond and later.
        Some(from) if from > 0 => EntryId { ms: from - 1, sequence: u64::MAX >> 11 },
        _ => EntryId::MIN,
    };
    let first = arguments.after.map_or_else(|| arguments.partition.unwrap_or(0), |after| after.partition);
    let last = arguments.partition.unwrap_or_else(|| stream.partitions().saturating_sub(1)).max(first);
    let mut entries: Vec<(LetterId, Peeked)> = Vec::new();
    for partition in first..=last {
        let after = arguments.after.filter(|after| after.partition == partition).map_or(begin, |after| after.id);
        if entries.len() < limit {
            let page = stream.peek(partition, after, limit - entries.len()).await?;
            entries.extend(page.into_iter().map(|entry| (LetterId { partition, id: entry.id }, entry)));
        }
    }
    let next = entries.last().filter(|_| entries.len() == limit).map(|(place, _)| place.to_string());
    let rows: Vec<Vec<String>> = entries.iter().map(|(place, entry)| row(*place, entry)).collect();
    let empty = match arguments.after {
        Some(_) => "no more entries; omit --after to start from the beginning".to_owned(),
        None => format!("stream {}: no entries", stream.name()),
    };
    let mut text = table_or(&["ID", "APPENDED", "KEY", "ONLY FOR", "VALUE"], &rows, &empty);
    text.push_str(&next_page(next.as_deref()));
    let values: Vec<Value> = entries.iter().map(|(place, entry)| value(*place, entry)).collect();
    output.print(&json!({ "entries": values, "next": next }), &text)?;
    Ok(true)
}

fn row(place: LetterId, entry: &Peeked) -> Vec<String> {
    vec![
        place.to_string(),
        time::text(entry.id.ms),
        truncated(&printable(&entry.key), CELL_MAX),
        entry.only.clone().unwrap_or_default(),
        entry
            .value
            .as_ref()
            .map_or_else(|| "the record cannot be decoded".to_owned(), |value| truncated(&printable(value), CELL_MAX)),
    ]
}

fn value(place: LetterId, entry: &Peeked) -> Value {
    json!({
        "id": place.to_string(),
        "partition": place.partition,
        "appended_ms": entry.id.ms,
        "key": printable(&entry.key),
        "only_for": entry.only,
        "value": entry.value.as_deref().map(body_json),
        "unreadable": entry.value.is_none(),
    })
}
