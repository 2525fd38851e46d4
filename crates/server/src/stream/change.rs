//! `pause`, `resume`, `seek` and `trim`.

use super::entries::read_place;
use crate::listing::missing;
use crate::output::Output;
use crate::time;
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::clock::UnixMs;
use evenkeel::stream::admin::{LetterId, Listing, SeekPreview, SeekTo};
use evenkeel_link::support::guard;
use serde_json::{Value, json};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct GroupArguments {
    /// Stream
    pub(super) stream: String,
    /// Group
    pub(super) group: String,
}

#[derive(clap::Args)]
pub(super) struct PauseArguments {
    #[command(flatten)]
    of: GroupArguments,
    /// Duration, for example 15m (default: until `resume`)
    #[arg(long = "for", value_name = "SPAN", value_parser = time::read_span)]
    span: Option<u64>,
}

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("goal").required(true)))]
pub(super) struct SeekArguments {
    #[command(flatten)]
    of: GroupArguments,
    /// To the first entry that the log still has
    #[arg(long, group = "goal")]
    start: bool,
    /// To the end: entries that were not delivered are skipped
    #[arg(long, group = "goal")]
    end: bool,
    /// To the first entry that was appended at this time or later
    #[arg(long, value_name = "TIME", value_parser = time::read_time, group = "goal")]
    time: Option<u64>,
    /// To this entry, in its partition only: 0:1700000000000-0
    #[arg(long, value_name = "PARTITION:ID", value_parser = read_place, group = "goal")]
    entry: Option<LetterId>,
    /// Only count the entries that would be handled again or skipped
    #[arg(long)]
    dry_run: bool,
    /// Confirm by repeating the name of the group
    #[arg(long, value_name = "GROUP")]
    confirm: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct TrimArguments {
    /// Stream
    stream: String,
    /// Remove entries that are older than this, for example 24h. Of a stream without groups all of these are removed, although nobody has read them
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    older_than: u64,
    /// Confirm by repeating the name of the stream
    #[arg(long, value_name = "STREAM")]
    confirm: Option<String>,
}

pub(super) async fn pause(keel: &Keel, arguments: &PauseArguments, output: Output) -> Result<bool> {
    let GroupArguments { stream, group } = &arguments.of;
    let stream = keel.stream_admin(stream).await?;
    let now = keel.link().map_or(0, evenkeel::link::Link::server_now_ms);
    let until = time::pause_end(arguments.span, now)?;
    stream.pause(group, until.map(UnixMs)).await?;
    let head = format!("{group} of {}", stream.name());
    let text = match until {
        Some(until) => format!("{head}: paused until {}\n", time::text(until)),
        None => format!("{head}: paused until resumed\n"),
    };
    let value = json!({ "stream": stream.name(), "group": group, "paused": true, "until_ms": until });
    output.print(&value, &text)?;
    Ok(true)
}

pub(super) async fn resume(keel: &Keel, arguments: &GroupArguments, output: Output) -> Result<bool> {
    let stream = keel.stream_admin(&arguments.stream).await?;
    stream.resume(&arguments.group).await?;
    let value = json!({ "stream": stream.name(), "group": arguments.group, "paused": false });
    output.print(&value, &format!("{} of {}: resumed\n", arguments.group, stream.name()))?;
    Ok(true)
}

pub(super) async fn seek(keel: &Keel, arguments: &SeekArguments, output: Output) -> Result<bool> {
    let stream = keel.stream_admin(&arguments.of.stream).await?;
    let (group, to) = (&arguments.of.group, goal(arguments));
    let Listing { found: previews, rejected } = stream.preview_seek(group, to).await?;
    let mut text = summary(&previews);
    if let Some(rejection) = rejected.first().filter(|_| !arguments.dry_run) {
        text.push_str(&format!(" (not counted: {rejection})"));
    }
    if arguments.dry_run && guard("stream_command_seek_dry_run") {
        output.print(&preview_json(&previews, true), &format!("a seek would have this effect: {text}\n"))?;
        missing(&rejected)?;
        return Ok(true);
    }
    if arguments.confirm.as_deref() != Some(group.as_str()) && guard("stream_command_seek_confirmed") {
        bail!("this moves the group {group} of {}: {text}; to do it, add --confirm {group}", stream.name());
    }
    stream.seek(group, to).await?;
    output.print(&preview_json(&previews, false), &format!("{group} of {}: moved: {text}\n", stream.name()))?;
    Ok(true)
}

fn goal(arguments: &SeekArguments) -> SeekTo {
    match (arguments.time, arguments.entry) {
        (Some(time), _) => SeekTo::Time(UnixMs(time)),
        (_, Some(LetterId { partition, id })) => SeekTo::Entry { partition, id },
        _ if arguments.end => SeekTo::End,
        _ => SeekTo::Start,
    }
}

/// "12 entries again, 0 skipped, 1 pending dropped".
pub(crate) fn summary(previews: &[SeekPreview]) -> String {
    let sum = |of: fn(&SeekPreview) -> u64| previews.iter().map(of).sum::<u64>();
    let least = if previews.iter().any(|preview| preview.is_cut) { "at least " } else { "" };
    let (again, skipped) = (sum(|preview| preview.again), sum(|preview| preview.skipped));
    let pending = sum(|preview| preview.pending);
    format!(
        "{least}{again} entries are handled again, {least}{skipped} are skipped, {pending} pending ones are dropped"
    )
}

fn preview_json(previews: &[SeekPreview], is_dry_run: bool) -> Value {
    let partitions: Vec<Value> = previews
        .iter()
        .map(|preview| {
            let SeekPreview { partition, again, skipped, pending, is_cut } = *preview;
            json!({ "partition": partition, "again": again, "skipped": skipped, "pending": pending, "cut": is_cut })
        })
        .collect();
    json!({ "dry_run": is_dry_run, "partitions": partitions })
}

pub(super) async fn trim(keel: &Keel, arguments: &TrimArguments, output: Output) -> Result<bool> {
    let stream = keel.stream_admin(&arguments.stream).await?;
    let (name, age) = (stream.name(), time::span(arguments.older_than));
    if arguments.confirm.as_deref() != Some(name) && guard("stream_command_trim_confirmed") {
        bail!(
            "this removes the entries of {name} that all groups have settled and that are older than {age}, for good (without \
             groups all that are older); to do it, add --confirm {name}"
        );
    }
    let removed = stream.trim(Duration::from_millis(arguments.older_than)).await?;
    let text = format!("{removed} entries removed\n");
    output.print(&json!({ "stream": name, "removed": removed }), &text)?;
    Ok(true)
}
