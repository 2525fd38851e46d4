//! `evenkeel lock ..`: inspects and breaks the locks on a Redis.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error and the audit line of a broken lock
//! go to standard error. Exit codes: 0 yes; 1 no (the lock is free, or has another holder by now); 2 error.

mod audit;
mod entry;

pub(crate) use entry::token_of_hex;

use crate::connect::OnRedis;
use crate::operations::Failure;
use crate::operations::lock::break_lock;
use crate::output::{Output, foreign, table_or};
use anyhow::{Result, bail};
use entry::{Entry, HEADINGS, Kind, holders, read_owner};
use evenkeel::lock::LockName;
use evenkeel::{Keel, Token};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnRedis,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List locks, read/write locks and semaphores in use
    Ls,
    /// Show the holders of a lock, read/write lock or semaphore
    Show {
        /// Name of the lock, or what Redis shows between the braces of its keys
        name: String,
    },
    /// Break a lock: its holders lose it, and notice this at their next renewal
    #[command(visible_alias = "break")]
    Release(ReleaseArguments),
}

#[derive(clap::Args)]
struct ReleaseArguments {
    /// Name of the lock, or what Redis shows between the braces of its keys
    name: String,
    /// Confirm: the holder may still be working, and only fencing tokens prevent its writes
    #[arg(long)]
    force: bool,
    /// Kind of the lock
    #[arg(long, value_enum, default_value_t = Kind::Lock)]
    kind: Kind,
    /// The fencing token of the holder (printed by `show`): no later one loses the lock; for an exclusive lock
    #[arg(long)]
    fence: Option<u64>,
    /// Only this holder (32 digits, printed by `show`); for a read/write lock or a semaphore
    #[arg(long, value_parser = read_owner, value_name = "OWNER")]
    holder: Option<Token>,
    /// Reason, written to the audit line
    #[arg(long, default_value = "")]
    reason: String,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    arguments.on.run(async |keel, output| operate(keel, arguments.command, output).await).await
}

async fn operate(keel: &Keel, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls => list(keel, output).await,
        Command::Show { name } => show(keel, &named(keel, name).await?, output).await,
        Command::Release(mut arguments) => {
            arguments.name = named(keel, arguments.name).await?;
            release(keel, &arguments, output).await
        }
    }
}

/// The name that a text stands for: itself, unless only the lock is in use whose keys Redis shows with it.
async fn named(keel: &Keel, text: String) -> Result<String> {
    let Some(shown) = LockName::shown_as(&text) else { return Ok(text) };
    let (mut is_used, mut is_shown_used) = (false, false);
    for kind in Kind::ALL {
        is_used |= kind.find(keel, &text).await?.is_some();
        is_shown_used |= kind.find(keel, shown.as_str()).await?.is_some();
    }
    Ok(if is_shown_used && !is_used { shown.to_string() } else { text })
}

async fn list(keel: &Keel, output: Output) -> Result<bool> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        for name in kind.names(keel).await? {
            // The lock may have been released since it was listed.
            if let Some(entry) = kind.find(keel, &name).await? {
                values.push(entry.json(&name));
                rows.push(entry.row(&name));
            }
        }
    }
    let prefix = keel.link().map(|link| link.prefix()).unwrap_or_default();
    let empty = format!(
        "no lock, read/write lock or semaphore is in use under the prefix {prefix:?}; if the service uses another prefix, add \
         ?prefix=NAME to the address"
    );
    output.print(&Value::Array(values), &table_or(&HEADINGS, &rows, &empty))?;
    Ok(true)
}

async fn show(keel: &Keel, name: &str, output: Output) -> Result<bool> {
    let mut all: Vec<Entry> = Vec::new();
    for kind in Kind::ALL {
        all.extend(kind.find(keel, name).await?);
    }
    let text = if all.is_empty() {
        format!("{} is free\n", foreign(name))
    } else {
        all.iter().map(|entry| entry.text(name)).collect()
    };
    output.print(&all.iter().map(|entry| entry.json(name)).collect(), &text)?;
    Ok(!all.is_empty())
}

async fn release(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    if !arguments.force {
        bail!(
            "the holder may still be working, and only fencing tokens prevent its writes; to break the lock, add --force"
        );
    }
    match (arguments.kind, arguments.fence, arguments.holder) {
        (Kind::Lock, _, None) => release_lock(keel, arguments, output).await,
        (Kind::Lock, _, Some(_)) => bail!("an exclusive lock has one holder: use --fence instead of --holder"),
        (Kind::Rw | Kind::Semaphore, Some(_), _) => {
            bail!(
                "the holders of a read/write lock or a semaphore share its fencing token: use --holder instead of --fence"
            )
        }
        (Kind::Rw | Kind::Semaphore, None, _) => release_permits(keel, arguments, output).await,
    }
}

async fn release_lock(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    let (name, shown) = (&arguments.name, foreign(&arguments.name));
    let Some(fence) = arguments.fence else {
        let Some(holder) = keel.lock(name).inspect().await? else {
            output.print(
                &json!({ "name": name, "released": false }),
                &format!("{shown} is free; nothing was changed\n"),
            )?;
            return Ok(false);
        };
        let fence = holder.fence;
        bail!(
            "{shown} is held with fencing token {fence}; to take it from this holder and no later one, add --fence {fence}"
        );
    };
    // Its name is an argument.
    let (value, text) = match break_lock(keel, name, fence).run.await {
        Ok(broken) => {
            audit::line(name, &broken.0, &arguments.reason);
            let text = broken.text();
            (json!({ "name": name, "released": true, "from": Entry::Lock(broken.0).json(name) }), text)
        }
        Err(Failure::Refused(_, line)) => (json!({ "name": name, "released": false }), line),
        Err(failure) => return Err(failure.into()),
    };
    output.print(&value, &format!("{shown} {text}\n"))?;
    Ok(value["released"] == true)
}

async fn release_permits(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    let (name, shown, holder) = (&arguments.name, foreign(&arguments.name), arguments.holder);
    let broken = match arguments.kind {
        Kind::Rw => keel.rw_lock(name).break_holds(holder).await?,
        Kind::Lock | Kind::Semaphore => keel.semaphore(name, 1).break_holds(holder).await?,
    };
    for holder in &broken {
        audit::permits_line(arguments.kind.word(), name, holder, &arguments.reason);
    }
    let text = match broken.len() {
        0 => format!("{shown} has no such holder; nothing was changed\n"),
        1 => format!("{shown} was broken for one holder\n"),
        many => format!("{shown} was broken for {many} holders\n"),
    };
    let value = json!({ "name": name, "released": !broken.is_empty(), "from": holders(&broken) });
    output.print(&value, &text)?;
    Ok(!broken.is_empty())
}
