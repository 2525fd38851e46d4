//! `evenkeel queue ..`: inspects and operates the queues on a Redis.
//!
//! The result goes to standard output, as a table or (with `--json`) as one JSON value; an error goes to standard error, in one line.
//! Exit codes: 0 yes; 1 no (not every job was revoked, an alert is active); 2 error.

mod add;
mod amend;
pub(crate) mod change;
mod create;
mod dead;
mod grow;
pub(crate) mod jobs;
pub(crate) mod letters;
pub(crate) mod search;
pub(crate) mod slices;
mod stats;
mod top;
mod watch;

use crate::connect::{Servers, on_servers};
use crate::database::{Database, on};
use crate::listing::Listing;
use crate::operations::{revoke, run_now};
use crate::output::Output;
use anyhow::Result;
use evenkeel::queue::topic::{self, Topic};
use evenkeel::queue::{JobId, QueueError};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Redis: redis://, rediss:// or unix://, with ?prefix= if the service sets a prefix
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", global = true, hide_env_values = true)]
    redis: Option<String>,
    /// Database of queues with Durability::Sql: mysql://, postgres:// or sqlite:
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
    Stats(change::TopicArgument),
    /// List the jobs of a topic, page by page
    Peek(jobs::PeekArguments),
    /// List the newest jobs of a topic, with the beginning of each body
    Newest(jobs::PeekArguments),
    /// Find jobs by a text in their bodies or errors, the newest first
    ///
    /// Redis has nine tenths of the time for others, so a search among 100,000 jobs takes a minute or longer. Ctrl-C stops it, and says how to
    /// continue.
    Find(jobs::find::Arguments),
    /// Show one job: state, body, attempts, errors
    Job(jobs::JobArguments),
    /// Tell why a job is where it is: why it does not run, or what has become of it
    Why(jobs::JobArguments),
    /// Register a topic for programs that use the console's API; a program of the library registers its own
    Create(create::Arguments),
    /// Enqueue a job
    Add(add::Arguments),
    /// Revoke jobs that have not started
    Revoke(change::Ids),
    /// Change the due time or the body of a waiting job
    Reschedule(change::RescheduleArguments),
    /// Replace the body of a waiting job or of a dead letter
    Amend(amend::Arguments),
    /// Make waiting jobs due now
    Run(change::Ids),
    /// Pause a topic: consumers receive no jobs from it
    Pause(change::PauseArguments),
    /// Resume a paused topic
    Resume(change::TopicArgument),
    /// Increase the number of shards of a topic while it is in use; can be repeated if interrupted
    Grow(grow::Arguments),
    /// List, redrive or delete dead letters
    #[command(subcommand)]
    Dead(dead::Command),
    /// Show a live table of topics
    Top(top::Arguments),
    /// Watch topics: print alerts, and send them to a webhook
    Watch(watch::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let Arguments { redis, database, json, command } = arguments;
    let output = Output::new(json);
    let (redis, database) = (redis.as_deref(), database.as_deref());
    on_servers(redis, database, async |servers| operate(servers, command, output).await).await
}

impl Servers<'_> {
    /// Attaches the database to a topic with [`Durability::Sql`](evenkeel::queue::Durability::Sql), which needs it.
    async fn with_rows(&self, topic: Topic) -> Result<Topic> {
        let Some(database) = self.database.filter(|_| topic.needs_database()) else { return Ok(topic) };
        Ok(on!(Database::connect(database).await?, pool => topic.sql(&pool)))
    }
}

/// A note below output that comes from Redis alone although the SQL rows decide.
fn redis_only(topic: &Topic) -> &'static str {
    if topic.needs_database() {
        "Redis only: the jobs of this topic are rows in a SQL database; add --database URL to include them\n"
    } else {
        ""
    }
}

async fn operate(servers: &Servers<'_>, command: Command, output: Output) -> Result<bool> {
    match command {
        Command::Ls => stats::list(servers, output).await,
        Command::Stats(arguments) => stats::stats(servers, &arguments, output).await,
        Command::Peek(arguments) => jobs::peek(servers, &arguments, output).await,
        Command::Newest(arguments) => jobs::newest::newest(servers, &arguments, output).await,
        Command::Find(arguments) => jobs::find::find(servers, &arguments, output).await,
        Command::Job(arguments) => jobs::show::job(servers, &arguments, output).await,
        Command::Why(arguments) => jobs::why::why(servers, &arguments, output).await,
        Command::Create(arguments) => create::run(servers, &arguments, output).await,
        Command::Add(arguments) => add::run(servers, arguments, output).await,
        Command::Revoke(arguments) => change::each(servers, &arguments, revoke, output).await,
        Command::Reschedule(arguments) => change::reschedule(servers, arguments, output).await,
        Command::Amend(arguments) => amend::run(servers, arguments, output).await,
        Command::Run(arguments) => change::each(servers, &arguments, run_now, output).await,
        Command::Pause(arguments) => change::pause(servers, &arguments, output).await,
        Command::Resume(arguments) => change::resume(servers, &arguments, output).await,
        Command::Grow(arguments) => grow::run(servers, &arguments, output).await,
        Command::Dead(command) => dead::run(servers, command, output).await,
        Command::Top(arguments) => top::run(servers, &arguments, output).await,
        Command::Watch(arguments) => watch::run(servers, &arguments, output).await,
    }
}

/// Jobs of one call.
const ITEMS_MAX: usize = 500;

async fn topic(servers: &Servers<'_>, name: &str) -> Result<Topic> {
    servers.with_rows(servers.keel.topic(name).await?).await
}

/// The named topics, or all topics if none is named.
async fn topics(servers: &Servers<'_>, names: &[String]) -> Result<topic::Listing<Topic, QueueError>> {
    let mut topics = topic::Listing::default();
    if names.is_empty() {
        let all = servers.keel.topics().await?;
        topics.rejected = all.rejected;
        for topic in all.found {
            topics.found.push(servers.with_rows(topic).await?);
        }
    }
    for name in names {
        topics.found.push(topic(servers, name).await?);
    }
    Ok(topics)
}

/// The statistics of the named topics, or of all topics if none is named.
pub(crate) async fn listing(servers: &Servers<'_>, names: &[String]) -> Result<Listing> {
    stats::listing(topics(servers, names).await?).await
}

/// The job with this id: 32 hexadecimal digits, or the id that its sender chose, which may be 32 hexadecimal digits as well.
async fn job_id(topic: &Topic, text: &str) -> Result<JobId> {
    let chosen = JobId::named(text.as_bytes());
    let Ok(id) = text.parse::<JobId>() else { return Ok(chosen) };
    Ok(if !exists(topic, id).await? && exists(topic, chosen).await? { chosen } else { id })
}

async fn job_ids(topic: &Topic, texts: &[String]) -> Result<Vec<JobId>> {
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        ids.push(job_id(topic, text).await?);
    }
    Ok(ids)
}

/// Whether the topic has a job, as far as this program can know.
async fn exists(topic: &Topic, id: JobId) -> Result<bool, QueueError> {
    match topic.job(id).await {
        Ok(found) => Ok(found.is_some()),
        Err(QueueError::Unreadable(_)) => Ok(true),
        Err(QueueError::NeedsDatabase { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
