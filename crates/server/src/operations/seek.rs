//! Moves a group of a stream: entries are handled again or skipped.

use super::{Done, Failure, Operation};
use crate::kind::invalid;
use crate::roles::Action;
use crate::time;
use evenkeel::clock::UnixMs;
use evenkeel::stream::admin::{LetterId, SeekPreview, SeekTo, StreamAdmin};
use serde_json::json;

/// `previews` say what it does to each partition. A partition that Redis rejects is an error of the seek, which moves the others.
pub(crate) fn seek<'a>(
    stream: &'a StreamAdmin,
    group: &'a str,
    to: SeekTo,
    previews: &'a [SeekPreview],
) -> Operation<'a> {
    let (name, at) = match to {
        SeekTo::Start => ("start", String::new()),
        SeekTo::End => ("end", String::new()),
        SeekTo::Time(UnixMs(ms)) => ("time", time::text(ms)),
        SeekTo::Entry { partition, id } => ("entry", LetterId { partition, id }.to_string()),
    };
    let run = async move {
        stream.seek(group, to).await?;
        let summary = summary(previews);
        Ok(Done::new("moved", format!("{group} is moved: {summary}."), format!("moved: {summary}")))
    };
    let target = json!({ "stream": stream.name(), "group": group, "to": name, "at": at });
    Operation::new((Action::Seek, "seek"), stream.name(), target, run).confirmed_by("the group's name", group)
}

/// Where a seek goes, as the console has it.
pub(crate) fn goal(to: &str, at: &str) -> Result<SeekTo, Failure> {
    let wrong = |field, detail: &str| Failure::invalid(invalid(field, detail), detail);
    match to {
        "start" => Ok(SeekTo::Start),
        "end" => Ok(SeekTo::End),
        "time" => time::read_time(at.trim()).map(|ms| SeekTo::Time(UnixMs(ms))).map_err(|error| wrong("at", &error)),
        "entry" => {
            let form = "An entry is PARTITION:ID, for example 0:1700000000000-0.";
            let LetterId { partition, id } = at.trim().parse().map_err(|_| wrong("at", form))?;
            Ok(SeekTo::Entry { partition, id })
        }
        _ => Err(wrong("to", "`to` must be start, end, time or entry. Nothing was changed.")),
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
