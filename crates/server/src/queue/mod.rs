//! `evenkeel queue ..`: the queues on a Redis, for operators.
//!
//! What is asked for goes to standard output, as a table or (with `--json`) as one JSON value; errors are one sentence on
//! standard error. Exit codes: 0 done; 1 done, and the answer is no (not every job was revoked, an alert stands); 2 not done.

mod add;
mod change;
mod dead;
mod figures;
mod grow;
mod jobs;
pub(crate) mod output;
mod prefixes;
pub(crate) mod time;
mod top;
mod watch;
mod webhook;

use crate::doctor::address::{Address, Kind};
use crate::outbox;
use anyhow::{Context, Result, bail};
use evenkeel::Keel;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Topic;
use output::Output;
use std::process::ExitCode;

/// Bad input, or a server that cannot be reached: nothing was done, or not all of it.
const NOT_DONE: u8 = 2;

/// What `queue` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The Redis: redis://, rediss:// or unix://, with `?prefix=` if the service names one
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", global = true, hide_env_values = true)]
    redis: Option<String>,
    /// The database of queues with `Durability::Sql`: mysql://, postgres:// or sqlite:
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
    /// List topics with their backlog, workers and lateness
    Ls,
    /// Show the statistics of a topic
    Stats(figures::Arguments),
    /// List the jobs of a topic, page by page
    Peek(jobs::PeekArguments),
    /// Show one job: state, body, attempts, errors
    Job(jobs::JobArguments),
    /// Enqueue a job
    Add(add::Arguments),
    /// Revoke jobs that have not started
    Revoke(change::Ids),
    /// Change the due time or the body of a waiting job
    Reschedule(change::RescheduleArguments),
    /// Make waiting jobs due now
    Run(change::Ids),
    /// Pause a topic: its jobs wait
    Pause(change::PauseArguments),
    /// Resume a paused topic
    Resume(change::TopicArgument),
    /// Increase the number of shards of a topic while it is in use; a stopped run can be repeated
    Grow(grow::Arguments),
    /// List, redrive or delete dead letters
    #[command(subcommand)]
    Dead(dead::Command),
    /// Live table of all topics
    Top(top::Arguments),
    /// Print alerts, and send them to a webhook
    Watch(watch::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let output = Output::new(arguments.json);
    let address = match address(arguments.redis.as_deref()) {
        Ok(address) => address,
        Err(error) => return not_done(&format!("{error:#}")),
    };
    let database = match arguments.database.as_deref().map(|url| outbox::address(Some(url))).transpose() {
        Ok(database) => database,
        Err(error) => return not_done(&format!("{error:#}")),
    };
    let ran = match Keel::connect(&address.url).await {
        Ok(keel) => operate(&Desk { keel, database: database.as_ref() }, arguments.command, output).await,
        Err(error) => Err(error.into()),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let sentence = address.without_secrets(&format!("{error:#}"));
            not_done(&database.map_or_else(|| sentence.clone(), |database| database.without_secrets(&sentence)))
        }
    }
}

/// What an operator works with.
struct Desk<'a> {
    keel: Keel,
    /// For topics whose jobs are rows. Connected to only if there is one.
    database: Option<&'a Address>,
}

impl Desk<'_> {
    /// With the database, if the topic needs it.
    async fn with_rows(&self, topic: Topic) -> Result<Topic> {
        let Some(database) = self.database.filter(|_| topic.needs_database()) else { return Ok(topic) };
        Ok(match database.kind {
            Kind::MySql => topic.sql(&outbox::connected::<sqlx::MySql>(database).await?),
            Kind::Postgres => topic.sql(&outbox::connected::<sqlx::Postgres>(database).await?),
            _ => topic.sql(&outbox::connected::<sqlx::Sqlite>(database).await?),
        })
    }
}

/// What stands below figures and lists that may not tell everything.
fn redis_only(topic: &Topic) -> &'static str {
    if topic.needs_database() {
        "Redis only: the jobs are rows in a SQL database, which decides about them; say which with --database URL\n"
    } else {
        ""
    }
}

pub(crate) fn not_done(sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::from(NOT_DONE)
}

pub(crate) fn address(url: Option<&str>) -> Result<Address> {
    let url = url.context("say which Redis: --redis redis://host:6379 (or the environment variable EVENKEEL_REDIS)")?;
    match Address::read(1, url) {
        Ok(address) if address.kind == Kind::Redis => Ok(address),
        _ => bail!("--redis is no Redis address: write redis://, rediss:// or unix://"),
    }
}

/// Whether the answer is yes.
async fn operate(desk: &Desk<'_>, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls => figures::list(desk, output).await,
        Command::Stats(arguments) => figures::stats(desk, &arguments, output).await,
        Command::Peek(arguments) => jobs::peek(desk, &arguments, output).await,
        Command::Job(arguments) => jobs::job(desk, &arguments, output).await,
        Command::Add(arguments) => add::run(desk, arguments, output).await,
        Command::Revoke(arguments) => change::revoke(desk, &arguments, output).await,
        Command::Reschedule(arguments) => change::reschedule(desk, arguments, output).await,
        Command::Run(arguments) => change::run_now(desk, &arguments, output).await,
        Command::Pause(arguments) => change::pause(desk, &arguments, output).await,
        Command::Resume(arguments) => change::resume(desk, &arguments, output).await,
        Command::Grow(arguments) => grow::run(desk, &arguments, output).await,
        Command::Dead(command) => dead::run(desk, command, output).await,
        Command::Top(arguments) => top::run(desk, &arguments, output).await,
        Command::Watch(arguments) => watch::run(desk, &arguments, output).await,
    }
}

async fn topic(desk: &Desk<'_>, name: &str) -> Result<Topic> {
    desk.with_rows(desk.keel.topic(name).await?).await
}

/// The topics that were named, or all there are.
async fn topics(desk: &Desk<'_>, names: &[String]) -> Result<Vec<Topic>> {
    let mut topics = Vec::with_capacity(names.len());
    if names.is_empty() {
        for topic in desk.keel.topics().await? {
            topics.push(desk.with_rows(topic).await?);
        }
    }
    for name in names {
        topics.push(topic(desk, name).await?);
    }
    Ok(topics)
}

/// A job as operators name it: its id as it is printed, or the id its sender gave it.
fn job_id(text: &str) -> JobId {
    text.parse().unwrap_or_else(|_| JobId::named(text.as_bytes()))
}
