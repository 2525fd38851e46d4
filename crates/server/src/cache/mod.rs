//! `evenkeel cache ..`: looks at one entry of a cache, and invalidates it.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error goes to standard error, in one line.
//! Exit codes: 0 yes; 1 no (there is no entry under the key); 2 error.

pub(crate) mod entry;

use crate::connect::OnRedis;
use crate::operations;
use crate::output::{Output, foreign, table};
use crate::time;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::cache::admin::{Mode, Outdated};
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnRedis,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show one entry: its state, age, version, lease and update windows; exit code 1 if there is none
    Show(Key),
    /// Invalidate one entry: no process stores a value that was read before
    Invalidate(InvalidateArguments),
}

#[derive(clap::Args)]
struct Key {
    /// Name of the cache
    cache: String,
    /// Key, as in Redis between the braces, or as the program has it: 42, 7,42 for the pair (7, 42), /a%20b
    key: String,
}

#[derive(clap::Args)]
struct InvalidateArguments {
    #[command(flatten)]
    at: Key,
    /// The new version of the row: no older one is stored from now on
    #[arg(long, value_name = "NUMBER")]
    version: Option<u64>,
    /// How long the old value may be served while one reader loads the new one, for example 5s (default: not at all)
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, conflicts_with = "purge")]
    retain: Option<u64>,
    /// How far the replicas that loaders read may lag behind, for example 2s; the entry knows, if a loader of replicas has used it
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    lag: Option<u64>,
    /// Never serve the old value again, not even to a reader whose load fails
    #[arg(long)]
    purge: bool,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let operate = async |keel: &Keel, output| match arguments.command {
        Command::Show(at) => show(keel, &at, output).await,
        Command::Invalidate(arguments) => invalidate(keel, &arguments, output).await,
    };
    arguments.on.run(operate).await
}

async fn show(keel: &Keel, at: &Key, output: Output) -> Result<bool> {
    let found = keel.cache_admin(&at.cache)?.inspect(&at.key).await?;
    let rows = entry::facts(&found).into_iter().map(|(name, text)| vec![name.to_owned(), text]);
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.extend(entry::text(&found).map(|text| vec!["value".to_owned(), text]));
    let text = table(&[&at.cache, &at.key], &rows);
    output.print(&entry::json(&at.cache, &at.key, &found), &text)?;
    Ok(found.entry.is_some())
}

async fn invalidate(keel: &Keel, arguments: &InvalidateArguments, output: Output) -> Result<bool> {
    let Key { cache, key } = &arguments.at;
    let mode = if arguments.purge { Mode::Purge } else { Mode::Expire { retain_ms: arguments.retain.unwrap_or(0) } };
    let lag_max = Duration::from_millis(arguments.lag.unwrap_or(0));
    let outdated = Outdated { version: arguments.version, mode, lag_max };
    let admin = keel.cache_admin(cache)?;
    let done = operations::invalidate(&admin, (cache, key), outdated).run.await?;
    let word = if arguments.purge { "purged" } else { "invalidated" };
    let value = json!({ "cache": cache, "key": key, "result": word, "was_stored": done.result == "invalidated" });
    output.print(&value, &format!("{}: {}\n", foreign(&format!("{cache} {key}")), done.line))?;
    Ok(true)
}
