//! `evenkeel lock ..`: the locks on a Redis, for operators.
//!
//! What is asked for goes to standard output, as a table or (with `--json`) as one JSON value; errors are one sentence on
//! standard error, and so is the line that says who took a lock away. Exit codes: 0 done; 1 the answer is no (the lock is free, or
//! somebody else has it by now); 2 not done.

mod audit;
mod found;

use crate::queue::output::{Output, table_or};
use crate::queue::{address, not_done};
use anyhow::{Result, bail};
use evenkeel::lock::Fence;
use evenkeel::{Keel, Token};
use found::{Found, HEADINGS, Kind, holders, read_owner};
use serde_json::{Value, json};
use std::process::ExitCode;

/// What `lock` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The Redis: redis://, rediss:// or unix://, with `?prefix=` if the service names one
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", global = true, hide_env_values = true)]
    redis: Option<String>,
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the locks, read/write locks and semaphores that are in use
    Ls,
    /// Show the holders of the lock, read/write lock or semaphore of this name
    Show {
        /// Name of the lock
        name: String,
    },
    /// Break a lock: its holders lose it, and notice at their next renewal
    Release(ReleaseArguments),
}

#[derive(clap::Args)]
struct ReleaseArguments {
    /// Name of the lock
    name: String,
    /// Confirm: the holder may still be working, and only fencing tokens keep it from doing harm
    #[arg(long)]
    force: bool,
    /// Kind of the lock
    #[arg(long, value_enum, default_value_t = Kind::Lock)]
    kind: Kind,
    /// Only if the holder has this fencing token (printed by `show`); for an exclusive lock
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
    let output = Output::new(arguments.json);
    let address = match address(arguments.redis.as_deref()) {
        Ok(address) => address,
        Err(error) => return not_done(&format!("{error:#}")),
    };
    let done = match Keel::connect(&address.url).await {
        Ok(keel) => operate(&keel, arguments.command, output).await,
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => not_done(&address.without_secrets(&format!("{error:#}"))),
    }
}

/// Whether the answer is yes.
async fn operate(keel: &Keel, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls => list(keel, output).await,
        Command::Show { name } => show(keel, &name, output).await,
        Command::Release(arguments) => release(keel, &arguments, output).await,
    }
}

async fn list(keel: &Keel, output: Output) -> Result<bool> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        for name in kind.names(keel).await? {
            // One that was given back meanwhile is left out.
            if let Some(found) = kind.find(keel, &name).await? {
                values.push(found.json(&name));
                rows.push(found.row(&name));
            }
        }
    }
    let prefix = keel.link().map(|link| link.prefix()).unwrap_or_default();
    let empty = format!(
        "no lock, read/write lock or semaphore is held under the prefix {prefix:?}; if the service has another prefix, add \
         ?prefix=NAME to the address"
    );
    output.print(&Value::Array(values), &table_or(&HEADINGS, &rows, &empty))?;
    Ok(true)
}

async fn show(keel: &Keel, name: &str, output: Output) -> Result<bool> {
    let mut all: Vec<Found> = Vec::new();
    for kind in Kind::ALL {
        all.extend(kind.find(keel, name).await?);
    }
    let text =
        if all.is_empty() { format!("{name} is free\n") } else { all.iter().map(|found| found.text(name)).collect() };
    output.print(&all.iter().map(|found| found.json(name)).collect(), &text)?;
    Ok(!all.is_empty())
}

async fn release(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    if !arguments.force {
        bail!(
            "its holder may still be at work, and only fences keep it from doing harm; if that is what you want, say --force"
        );
    }
    match (arguments.kind, arguments.fence, arguments.holder) {
        (Kind::Lock, _, None) => release_lock(keel, arguments, output).await,
        (Kind::Lock, _, Some(_)) => bail!("an exclusive lock has one holder; name its --fence instead of --holder"),
        (Kind::Rw | Kind::Semaphore, Some(_), _) => {
            bail!("holders that share have no fence of their own; name one by --holder instead of --fence")
        }
        (Kind::Rw | Kind::Semaphore, None, _) => release_permits(keel, arguments, output).await,
    }
}

async fn release_lock(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    let name = &arguments.name;
    match keel.lock(name).break_lock(arguments.fence.map(Fence)).await? {
        None => {
            let text = match arguments.fence {
                Some(fence) => format!("{name} is not held with fencing token {fence}; nothing was changed\n"),
                None => format!("{name} is free; nothing was changed\n"),
            };
            output.print(&json!({ "name": name, "released": false }), &text)?;
            Ok(false)
        }
        Some(holder) => {
            audit::line(name, &holder, &arguments.reason);
            let text = format!("{name} was broken (fencing token {})\n", holder.fence);
            let from = Found::Lock(holder).json(name);
            output.print(&json!({ "name": name, "released": true, "from": from }), &text)?;
            Ok(true)
        }
    }
}

async fn release_permits(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    let (name, holder) = (&arguments.name, arguments.holder);
    let broken = match arguments.kind {
        Kind::Rw => keel.rw_lock(name).break_holds(holder).await?,
        Kind::Lock | Kind::Semaphore => keel.semaphore(name, 1).break_holds(holder).await?,
    };
    for holder in &broken {
        audit::permits_line(arguments.kind.word(), name, holder, &arguments.reason);
    }
    let text = match broken.len() {
        0 => format!("{name} has no such holder; nothing was changed\n"),
        1 => format!("{name} was broken: one holder lost it\n"),
        many => format!("{name} was broken: {many} holders lost it\n"),
    };
    let value = json!({ "name": name, "released": !broken.is_empty(), "from": holders(&broken) });
    output.print(&value, &text)?;
    Ok(!broken.is_empty())
}
