//! `evenkeel inbox ..`: lists and releases parked messages, those redelivered after the inbox had forgotten them.
//!
//! Exit codes: 0 yes; 1 no (a message is parked, or the message to release was not parked); 2 error.

use crate::connect::OnDatabase;
use crate::database::on;
use crate::operations::release::Parked;
use crate::outbox::change::decide;
use crate::output::{Output, table_or, truncated};
use crate::time;
use anyhow::{Context, Result, bail};
use evenkeel::Keel;
use evenkeel::sql::{Database, Inbox, Parked as ParkedMessage};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::SystemTime;
use web::{from_hex, hex};

/// Maximum width of a table cell.
const WIDTH: usize = 60;

const EMPTY: &str = "no message is parked";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnDatabase,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List parked messages, oldest first
    Ls {
        /// Maximum number of messages
        #[arg(long, default_value_t = 50, value_name = "NUMBER")]
        limit: u32,
    },
    /// Release a parked message: run it at its next delivery, or skip it
    Release(ReleaseArguments),
}

#[derive(clap::Args)]
struct ReleaseArguments {
    /// Consumer group of the message
    group: String,
    /// Id of the message, as printed by `ls`; an id that is not text is 0x and hexadecimal digits
    message: String,
    /// Run the message at its next delivery; use this if it was not processed, and have it sent again
    #[arg(long, conflicts_with = "skip")]
    run: bool,
    /// Never run the message; use this if it was processed, or is obsolete
    #[arg(long)]
    skip: bool,
    /// Confirm --skip by repeating the group
    #[arg(long, value_name = "GROUP")]
    confirm: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let Arguments { on, command } = arguments;
    on.run(async |database, output| match command {
        Command::Ls { limit } => on!(database, pool => ls(&Keel::memory().inbox(pool), limit, output).await),
        Command::Release(arguments) => release(database, &arguments, output).await,
    })
    .await
}

async fn ls<DB: Database>(inbox: &Inbox<DB>, limit: u32, output: Output) -> Result<bool> {
    let parked = inbox.parked(limit).await?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis();
    let now = u64::try_from(now)?;
    let rows: Vec<Vec<String>> = parked
        .iter()
        .map(|parked| {
            let since = time::distance(parked.parked_at.0, now);
            vec![truncated(&parked.group, WIDTH), name(&parked.message), since, parked.met.to_string()]
        })
        .collect();
    let value: Vec<Value> = parked.iter().map(as_json).collect();
    output
        .print(&json!({ "parked": value }), &table_or(&["GROUP", "MESSAGE", "PARKED", "DELIVERIES"], &rows, EMPTY))?;
    Ok(parked.is_empty())
}

async fn release(database: &crate::database::Database, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    if !arguments.run && !arguments.skip {
        bail!("add --run to run the message at its next delivery, or --skip to never run it");
    }
    let (id, what) = (bytes(&arguments.message)?, format!("{} {}", arguments.group, arguments.message));
    let parked = Parked::Message { group: &arguments.group, id: &id };
    decide(database, (parked, &what), arguments.skip, arguments.confirm.as_deref(), output).await
}

fn as_json(parked: &ParkedMessage) -> Value {
    json!({ "group": parked.group, "message": name(&parked.message), "parked_ms": parked.parked_at.0, "met": parked.met })
}

/// The message id, in a form that [`bytes`] reads.
fn name(message: &[u8]) -> String {
    match std::str::from_utf8(message) {
        Ok(text) if !text.starts_with("0x") && !text.chars().any(char::is_control) => text.to_owned(),
        _ => format!("0x{}", hex(message)),
    }
}

/// The inverse of [`name`].
fn bytes(name: &str) -> Result<Vec<u8>> {
    let Some(hex) = name.strip_prefix("0x") else { return Ok(name.as_bytes().to_vec()) };
    from_hex(hex)
        .with_context(|| format!("{name} is not a valid message id: after 0x, use two hexadecimal digits per byte"))
}

#[cfg(test)]
mod tests {
    use super::{bytes, name};

    #[test]
    fn printed_message_ids_parse_back() {
        for message in [&b"payment/7"[..], b"0x12", b"\xff\x00", b"line\nbreak", "\u{e4}".as_bytes(), b""] {
            assert_eq!(bytes(&name(message)).ok().as_deref(), Some(message), "{message:?}");
        }
        assert!(bytes("0x123").is_err() && bytes("0xgg").is_err());
    }
}
