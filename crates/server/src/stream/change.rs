//! `pause`, `resume`, `seek`, `trim` and `unregister`.

use super::entries::read_place;
use crate::listing::missing;
use crate::operations::seek::summary;
use crate::operations::{self, Of};
use crate::output::{Output, confirm};
use crate::queue::change::{pause_of, resume_of};
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

impl GroupArguments {
    /// The stream, and the group.
    pub(super) fn names(&self) -> (&str, &str) {
        (&self.stream, &self.group)
    }
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

#[derive(clap::Args)]
pub(super) struct UnregisterArguments {
    #[command(flatten)]
    of: GroupArguments,
    /// Confirm by repeating the name of the group
    #[arg(long, value_name = "GROUP")]
    confirm: Option<String>,
}

pub(super) async fn pause(keel: &Keel, arguments: &PauseArguments, output: Output) -> Result<bool> {
    let GroupArguments { stream, group } = &arguments.of;
    let stream = keel.stream_admin(stream).await?;
    let now = keel.link().map_or(0, evenkeel::link::Link::server_now_ms);
    pause_of(Of::Group(&stream, group), arguments.span, now, output).await
}

pub(super) async fn resume(keel: &Keel, arguments: &GroupArguments, output: Output) -> Result<bool> {
    resume_of(Of::Group(&keel.stream_admin(&arguments.stream).await?, &arguments.group), output).await
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
    let seek = operations::seek::seek(&stream, group, to, &previews);
    confirm(
        &seek,
        arguments.confirm.as_deref(),
        &format!("this moves the group {group} of {}: {text}", stream.name()),
    )?;
    seek.run.await?;
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

pub(super) async fn unregister(keel: &Keel, arguments: &UnregisterArguments, output: Output) -> Result<bool> {
    let stream = keel.stream_admin(&arguments.of.stream).await?;
    let (name, group) = (stream.name(), &arguments.of.group);
    let state = operations::unregister::group(&stream, group).await?;
    let unregister = operations::unregister::unregister(keel, &stream, &state);
    let effect = operations::unregister::effect(&state);
    let effect = format!("this unregisters the group {group} of {name}: {effect}");
    confirm(&unregister, arguments.confirm.as_deref(), &effect)?;
    let done = unregister.run.await?;
    let left = operations::unregister::left(&state);
    let value = json!({ "stream": name, "group": group, "unregistered": true, "partitions_left": left });
    output.print(&value, &format!("{group} of {name}: {}\n", done.line))?;
    Ok(true)
}
