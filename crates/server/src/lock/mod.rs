//! `evenkeel lock ..`: the locks on a Redis, for operators.
//!
//! What is asked for goes to standard output, as a table or (with `--json`) as one JSON value; errors are one sentence on
//! standard error, and so is the line that says who took a lock away. Exit codes: 0 done; 1 the answer is no (the lock is free, or
//! somebody else has it by now); 2 not done.

mod audit;

use crate::queue::output::{Output, readable, short, table};
use crate::queue::time::span;
use crate::queue::{address, not_done};
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::lock::Fence;
use evenkeel::lock::steps::Holder;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Widest column of a holder's words.
const WORDS_WIDTH: usize = 40;

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
    /// List the locks that are held or cool down
    Ls,
    /// Show who holds a lock
    Show {
        /// Its name
        name: String,
    },
    /// Take a lock away from its holder, who learns of it at its next renewal
    Release(ReleaseArguments),
}

#[derive(clap::Args)]
struct ReleaseArguments {
    /// Its name
    name: String,
    /// You know that its holder may still be at work, and that only fences keep it from doing harm
    #[arg(long)]
    force: bool,
    /// Only from the holder with this fence (`show` tells it)
    #[arg(long)]
    fence: Option<u64>,
    /// Why, for the audit line
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
    let mut held = Vec::new();
    for name in keel.locks_held().await? {
        // One that was given back meanwhile is left out.
        if let Some(holder) = keel.lock(name.as_str()).inspect().await? {
            held.push((name.to_string(), holder));
        }
    }
    let values: Vec<Value> = held.iter().map(|(name, holder)| json_of(name, holder)).collect();
    let rows: Vec<Vec<String>> = held.iter().map(|(name, holder)| row(name, holder)).collect();
    output.print(&Value::Array(values), &table(&["LOCK", "FENCE", "STATE", "HELD FOR", "WAITING", "HOLDER"], &rows))?;
    Ok(true)
}

async fn show(keel: &Keel, name: &str, output: Output) -> Result<bool> {
    match keel.lock(name).inspect().await? {
        None => {
            output.print(&json!({ "name": name, "state": "free" }), &format!("{name} is free\n"))?;
            Ok(false)
        }
        Some(holder) => {
            let text = format!(
                "{name}\n  state    {}\n  fence    {}\n  held for {}\n  free in  {} unless it is renewed or given back\n  \
                 waiting  {} processes\n  holder   {}\n",
                state(&holder),
                holder.fence,
                span(holder.held_ms),
                span(holder.free_in_ms),
                holder.waiting,
                readable(&holder.words),
            );
            output.print(&json_of(name, &holder), &text)?;
            Ok(true)
        }
    }
}

async fn release(keel: &Keel, arguments: &ReleaseArguments, output: Output) -> Result<bool> {
    if !arguments.force {
        bail!(
            "its holder may still be at work, and only fences keep it from doing harm; if that is what you want, say --force"
        );
    }
    let name = &arguments.name;
    match keel.lock(name).break_lock(arguments.fence.map(Fence)).await? {
        None => {
            let text = match arguments.fence {
                Some(fence) => format!("{name} is not held with fence {fence}; nothing was changed\n"),
                None => format!("{name} is free; nothing was changed\n"),
            };
            output.print(&json!({ "name": name, "released": false }), &text)?;
            Ok(false)
        }
        Some(holder) => {
            audit::line(name, &holder, &arguments.reason);
            let text = format!("{name} was taken from its holder (fence {})\n", holder.fence);
            output.print(&json!({ "name": name, "released": true, "from": json_of(name, &holder) }), &text)?;
            Ok(true)
        }
    }
}

fn state(holder: &Holder) -> &'static str {
    if holder.lease_left_ms == 0 { "cooling" } else { "held" }
}

fn row(name: &str, holder: &Holder) -> Vec<String> {
    vec![
        name.to_owned(),
        holder.fence.to_string(),
        state(holder).to_owned(),
        span(holder.held_ms),
        holder.waiting.to_string(),
        short(&readable(&holder.words), WORDS_WIDTH),
    ]
}

fn json_of(name: &str, holder: &Holder) -> Value {
    json!({
        "name": name,
        "state": state(holder),
        "fence": holder.fence.0,
        "lease_left_ms": holder.lease_left_ms,
        "free_in_ms": holder.free_in_ms,
        "held_ms": holder.held_ms,
        "waiting": holder.waiting,
        "holder": readable(&holder.words),
    })
}
