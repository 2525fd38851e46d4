//! `dead ls|replay|rm`: lists, replays and deletes the dead letters of a group.

use super::change::GroupArguments;
use super::entries::{CELL_MAX, read_place};
use super::letters::matching;
use crate::operations;
use crate::operations::stream_dead::{self, Tally};
use crate::output::{Output, body_json, confirm, next_page, printable, table_or, truncated};
use crate::time;
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::stream::admin::{DeadLetter, DeadLetters, LetterFilter, LetterId, NoteKind};
use evenkeel_link::support::guard;
use serde_json::{Value, json};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// List dead letters, page by page
    Ls(ListArguments),
    /// Replay dead letters: append them again, for their group only, with all their attempts
    Replay(ReplayArguments),
    /// Delete dead letters
    Rm(RemoveArguments),
}

#[derive(clap::Args)]
pub(super) struct FilterArguments {
    /// Only dead letters whose reason contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only dead letters whose value contains this text
    #[arg(long, value_name = "TEXT")]
    value: Option<String>,
    /// Only dead letters of this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only entries that died at this time or later
    #[arg(long, value_name = "TIME", value_parser = time::read_time)]
    from: Option<u64>,
    /// Only entries that died at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = time::read_time)]
    until: Option<u64>,
}

#[derive(clap::Args)]
pub(super) struct ListArguments {
    #[command(flatten)]
    of: GroupArguments,
    #[command(flatten)]
    filter: FilterArguments,
    /// Dead letters per page
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Continue after this dead letter: the cursor printed at the end of the previous page
    #[arg(long, value_name = "PARTITION:ID", value_parser = read_place)]
    after: Option<LetterId>,
}

#[derive(clap::Args)]
pub(super) struct ReplayArguments {
    #[command(flatten)]
    of: GroupArguments,
    /// Only these dead letters, as `dead ls` prints them
    #[arg(value_name = "PARTITION:ID", value_parser = read_place, conflicts_with_all = ["error", "value", "key", "from", "until", "limit"])]
    ids: Vec<LetterId>,
    #[command(flatten)]
    filter: FilterArguments,
    /// Replay all matching dead letters; without a filter, all of the group
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Stop after this many dead letters
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// Only count the matching dead letters
    #[arg(long)]
    dry_run: bool,
    /// Confirm --all by repeating the name of the group
    #[arg(long, value_name = "GROUP")]
    confirm: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct RemoveArguments {
    #[command(flatten)]
    of: GroupArguments,
    /// Dead letters, as `dead ls` prints them
    #[arg(value_name = "PARTITION:ID", value_parser = read_place, required_unless_present = "all", conflicts_with_all = ["error", "value", "key", "from", "until"])]
    ids: Vec<LetterId>,
    #[command(flatten)]
    filter: FilterArguments,
    /// Delete all matching dead letters; without a filter, all of the group
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Confirm by repeating the name of the group
    #[arg(long, value_name = "GROUP")]
    confirm: Option<String>,
}

impl FilterArguments {
    fn filter(&self) -> LetterFilter {
        LetterFilter {
            error_contains: self.error.clone(),
            value_contains: self.value.clone(),
            key: self.key.as_ref().map(|key| key.clone().into_bytes().into()),
            died_from: self.from,
            died_until: self.until,
        }
    }
}

pub(super) async fn run(keel: &Keel, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls(arguments) => list(keel, &arguments, output).await,
        Command::Replay(arguments) => replay(keel, &arguments, output).await,
        Command::Rm(arguments) => remove(keel, &arguments, output).await,
    }
}

/// The dead letters of a registered group.
async fn dead(keel: &Keel, GroupArguments { stream, group }: &GroupArguments) -> Result<DeadLetters> {
    let stream = keel.stream_admin(stream).await?;
    operations::unregister::group(&stream, group).await?;
    Ok(stream.dead(group)?)
}

async fn list(keel: &Keel, arguments: &ListArguments, output: Output) -> Result<bool> {
    let dead = dead(keel, &arguments.of).await?;
    let page = dead.page(&arguments.filter.filter(), arguments.after, usize::from(arguments.limit)).await?;
    let now = keel.link().map_or(0, evenkeel::link::Link::server_now_ms);
    let rows: Vec<Vec<String>> = page.letters.iter().map(|(id, letter)| row(*id, letter, now)).collect();
    let empty = match (&page.next, arguments.after) {
        (Some(_), _) => "no match among the 10,000 dead letters that were read".to_owned(),
        (None, Some(_)) => "no more dead letters; omit --after to start from the beginning".to_owned(),
        (None, None) => format!("group {} of {}: no dead letters that match", arguments.of.group, arguments.of.stream),
    };
    let mut text = table_or(&["ID", "DIED", "ERRORS", "KEY", "VALUE", "REASON"], &rows, &empty);
    let next = page.next.map(|next| next.to_string());
    text.push_str(&next_page(next.as_deref()));
    let letters: Vec<Value> = page.letters.iter().map(|(id, letter)| letter_json(*id, letter)).collect();
    output.print(&json!({ "letters": letters, "next": next }), &text)?;
    if let Some(rejection) = page.rejected.first() {
        bail!("the dead letters of {} are not listed: {}", rejection.part, rejection.error);
    }
    Ok(true)
}

fn row(id: LetterId, letter: &DeadLetter, now: u64) -> Vec<String> {
    let value = DeadLetters::value_of(letter).map_or_else(|| "cannot be decoded".to_owned(), |value| printable(&value));
    vec![
        id.to_string(),
        time::distance(letter.id.ms, now),
        letter.tries.as_ref().map_or_else(|| "-".to_owned(), |tries| tries.errors.to_string()),
        truncated(&printable(&letter.key), CELL_MAX),
        truncated(&value, CELL_MAX),
        truncated(&reason(letter), CELL_MAX),
    ]
}

/// Why the entry died.
pub(crate) fn reason(letter: &DeadLetter) -> String {
    let last = letter.tries.as_ref().and_then(|tries| tries.notes.last());
    last.map_or_else(String::new, |note| printable(&note.text))
}

/// The kind of a note in JSON: programs compare it.
pub(crate) fn kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Failed => "failed",
        NoteKind::Crashed => "crashed",
        NoteKind::Dead => "dead",
    }
}

fn letter_json(id: LetterId, letter: &DeadLetter) -> Value {
    let notes = letter.tries.iter().flat_map(|tries| &tries.notes);
    let errors: Vec<Value> =
        notes.map(|note| json!({ "at_ms": note.at, "kind": kind(note.kind), "text": printable(&note.text) })).collect();
    json!({
        "id": id.to_string(),
        "died_ms": letter.id.ms,
        "origin": letter.origin.to_string(),
        "key": printable(&letter.key),
        "parks_key": letter.parks_key,
        "errors_used": letter.tries.as_ref().map(|tries| tries.errors),
        "crashes": letter.tries.as_ref().map(|tries| tries.crashes),
        "errors": errors,
        "reason": reason(letter),
        "value": DeadLetters::value_of(letter).as_deref().map(body_json),
    })
}

async fn replay(keel: &Keel, arguments: &ReplayArguments, output: Output) -> Result<bool> {
    let group = &arguments.of.group;
    let dead = dead(keel, &arguments.of).await?;
    let filter = arguments.filter.filter();
    let is_all = arguments.all || filter != LetterFilter::default();
    if arguments.ids.is_empty() && !is_all {
        bail!("nothing to replay: add ids, --all, or a filter such as --error TEXT");
    }
    let ids = if is_all {
        matching(&dead, &filter, arguments.limit.unwrap_or(usize::MAX)).await?.ids
    } else {
        arguments.ids.clone()
    };
    if arguments.dry_run && guard("stream_command_replay_dry_run") {
        let first: Vec<String> = ids.iter().take(20).map(ToString::to_string).collect();
        let text = format!("{} dead letters would be replayed\n", ids.len());
        output.print(&json!({ "dry_run": true, "matching": ids.len(), "first": first }), &text)?;
        return Ok(true);
    }
    let replay = stream_dead::replay(&dead, arguments.of.names(), &ids, is_all);
    confirm(&replay, arguments.confirm.as_deref(), &format!("this replays {} dead letters of {group}", ids.len()))?;
    let replayed = replay.run.await?;
    if !is_all {
        return output.answers(&ids, replayed);
    }
    let tally = Tally::of(&replayed);
    let text: String = tally.lines().into_iter().map(|line| line + "\n").collect();
    let Tally { replayed, parked, gone } = tally;
    output.print(&json!({ "replayed": replayed, "parked": parked, "gone": gone }), &text)?;
    Ok(parked == 0)
}

async fn remove(keel: &Keel, arguments: &RemoveArguments, output: Output) -> Result<bool> {
    let group = &arguments.of.group;
    let dead = dead(keel, &arguments.of).await?;
    let ids = match arguments.all {
        true => matching(&dead, &arguments.filter.filter(), usize::MAX).await?.ids,
        false => arguments.ids.clone(),
    };
    let delete = stream_dead::delete(&dead, arguments.of.names(), &ids);
    let effect = format!("this deletes {} dead letters of {group} for good", ids.len());
    confirm(&delete, arguments.confirm.as_deref(), &effect)?;
    let deleted = delete.run.await?;
    if !arguments.all {
        return output.answers(&ids, deleted);
    }
    let deleted = deleted.done();
    output.print(&json!({ "deleted": deleted }), &format!("{deleted} dead letters deleted\n"))?;
    Ok(true)
}
