//! `evenkeel inbox ..`: messages that came back later than an inbox remembers, for the person who decides about them.
//!
//! Standard output, `--json` and exit codes as with `evenkeel outbox`: 1 says that something is parked, or that what was to be
//! released was not.

use crate::doctor::address::{Address, Kind};
use crate::outbox::{address, connected};
use crate::queue::not_done;
use crate::queue::output::{Output, short, table_or};
use crate::queue::time;
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::sql::{Database, Inbox, Parked, Release};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::SystemTime;

/// Widest cell of a text.
const WIDTH: usize = 60;

const EMPTY: &str = "no message is parked: nothing waits for a decision";

/// What `inbox` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The database: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", global = true, hide_env_values = true)]
    database: Option<String>,
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List parked messages, the oldest first
    Ls {
        /// Messages to list, at most
        #[arg(long, default_value_t = 50, value_name = "NUMBER")]
        limit: u32,
    },
    /// Decide about a parked message: run it again, or skip it
    Release(ReleaseArguments),
}

#[derive(clap::Args)]
struct ReleaseArguments {
    /// Consumer group of the message
    group: String,
    /// Id of the message as `ls` prints it; an id that is not text is 0x followed by hexadecimal digits
    message: String,
    /// It was not processed: run it at its next delivery. Have it sent again
    #[arg(long, conflicts_with = "skip")]
    run: bool,
    /// It was processed, or is not wanted: never run it
    #[arg(long)]
    skip: bool,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let output = Output::new(arguments.json);
    let address = match address(arguments.database.as_deref()) {
        Ok(address) => address,
        Err(error) => return not_done(&format!("{error:#}")),
    };
    let ran = match address.kind {
        Kind::MySql => operate::<sqlx::MySql>(&address, &arguments.command, output).await,
        Kind::Postgres => operate::<sqlx::Postgres>(&address, &arguments.command, output).await,
        _ => operate::<sqlx::Sqlite>(&address, &arguments.command, output).await,
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => not_done(&address.without_secrets(&format!("{error:#}"))),
    }
}

/// Whether the answer is yes.
async fn operate<DB: Database>(address: &Address, command: &Command, output: Output) -> Result<bool> {
    let inbox = Keel::memory().inbox(&connected::<DB>(address).await?);
    match command {
        Command::Ls { limit } => ls(&inbox, *limit, output).await,
        Command::Release(arguments) => release(&inbox, arguments, output).await,
    }
}

async fn ls<DB: Database>(inbox: &Inbox<DB>, limit: u32, output: Output) -> Result<bool> {
    let parked = inbox.parked(limit).await?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis();
    let now = u64::try_from(now)?;
    let rows: Vec<Vec<String>> = parked
        .iter()
        .map(|parked| {
            let since = time::distance(parked.parked_at.0, now);
            vec![short(&parked.group, WIDTH), name(&parked.message), since, parked.met.to_string()]
        })
        .collect();
    let value: Vec<Value> = parked.iter().map(as_json).collect();
    output.print(&json!({ "parked": value }), &table_or(&["GROUP", "MESSAGE", "PARKED", "CAME"], &rows, EMPTY))?;
    Ok(parked.is_empty())
}

async fn release<DB: Database>(inbox: &Inbox<DB>, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    let how = match (arguments.run, arguments.skip) {
        (true, _) => Release::Run,
        (_, true) => Release::Skip,
        _ => bail!("say what becomes of it: --run has it run the next time it comes, --skip takes it for dealt with"),
    };
    let released = inbox.release(&arguments.group, &bytes(&arguments.message)?[..], how).await?;
    let said = match (released, how) {
        (false, _) => "is not parked",
        (true, Release::Run) => "runs the next time it comes",
        (true, Release::Skip) => "is taken for dealt with",
    };
    let what = format!("{} {}", arguments.group, arguments.message);
    output.print(&json!({ "what": what, "released": released, "answer": said }), &format!("{what} {said}\n"))?;
    Ok(released)
}

fn as_json(parked: &Parked) -> Value {
    json!({ "group": parked.group, "message": name(&parked.message), "parked_ms": parked.parked_at.0, "met": parked.met })
}

/// A name as it can be typed again.
fn name(message: &[u8]) -> String {
    match std::str::from_utf8(message) {
        Ok(text) if !text.starts_with("0x") && !text.chars().any(char::is_control) => text.to_owned(),
        _ => message.iter().fold("0x".to_owned(), |hex, byte| format!("{hex}{byte:02x}")),
    }
}

/// The way back of [`name`].
fn bytes(name: &str) -> Result<Vec<u8>> {
    let Some(hex) = name.strip_prefix("0x") else { return Ok(name.as_bytes().to_vec()) };
    let digits: Vec<u8> = hex.chars().filter_map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    if digits.len() != hex.chars().count() || !digits.len().is_multiple_of(2) {
        bail!("{name} is no name in hexadecimal: write 0x and two digits for each byte, as `evenkeel inbox ls` does");
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::{bytes, name};

    #[test]
    fn a_name_is_read_as_it_is_printed() {
        for message in [&b"payment/7"[..], b"0x12", b"\xff\x00", b"line\nbreak", "\u{e4}".as_bytes(), b""] {
            assert_eq!(bytes(&name(message)).ok().as_deref(), Some(message), "{message:?}");
        }
        assert!(bytes("0x123").is_err() && bytes("0xgg").is_err());
    }
}
