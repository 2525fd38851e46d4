//! `evenkeel alerts ..`: the alert rules, evaluated without Prometheus or printed for it.
//!
//! Exit codes: 0 yes; 1 no (with `--once`: an alert fires); 2 error.

mod evaluate;
mod figures;
mod generate;
mod notify;
mod rules;
mod subject;
pub(crate) mod values;

use crate::address::Address;
use crate::connect::{exit_code, on_addresses};
use crate::database::Database;
use crate::output::{Output, truncated, write};
use crate::time;
use crate::webhook::Webhook;
use anyhow::{Result, bail};
use evaluate::{Evaluator, Notice, State};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use figures::Servers;
use notify::Notifier;
use rules::{RULES, Rule};
use std::process::ExitCode;
use std::time::Duration;
use url::Url;

/// The shortest interval between readings.
const EVERY_MIN_MS: u64 = 100;

/// The characters of a notice on a line.
const LINE_MAX: usize = 400;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Evaluate the rules: print alerts, and send them to a webhook
    Watch(WatchArguments),
    /// Print the rules as a rules file for Prometheus
    Prometheus(ConsoleAddress),
    /// Print a dashboard of all metrics for Grafana
    Grafana,
    /// Print the rules with what to do about each, as Markdown
    Page,
}

#[derive(clap::Args)]
struct ConsoleAddress {
    /// Address of the console, to which alerts link, for example https://ops.example.com
    #[arg(long, env = "EVENKEEL_CONSOLE", value_name = "URL", value_parser = read_console, default_value = "", hide_default_value = true, hide_env_values = true)]
    console: String,
}

/// The address without a slash at its end.
fn read_console(text: &str) -> Result<String, String> {
    let is_address = |url: &Url| matches!(url.scheme(), "http" | "https") && url.query().is_none();
    match Url::parse(text) {
        Ok(url) if is_address(&url) => Ok(text.trim_end_matches('/').to_owned()),
        _ if text.is_empty() => Ok(String::new()),
        _ => Err("use http:// or https:// and the host of the console".to_owned()),
    }
}

#[derive(clap::Args)]
struct WatchArguments {
    /// Redis: redis://, rediss:// or unix://, with ?prefix= if the service sets a prefix
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", hide_env_values = true)]
    redis: Option<String>,
    /// Database of the outbox: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Send each alert to this URL, as a POST with a JSON body; repeated for ten minutes with the same id
    #[arg(long, env = "EVENKEEL_WEBHOOK", value_name = "URL", hide_env_values = true)]
    webhook: Option<String>,
    #[command(flatten)]
    address: ConsoleAddress,
    /// Change the limit of a rule and, after a comma, how long it must be violated, for example QueueLate=120,5m; can be repeated
    #[arg(long, value_name = "RULE=LIMIT[,SPAN]", value_parser = read_change)]
    rule: Vec<Change>,
    /// Interval between readings, for example 5s; at least 100ms
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "5s")]
    every: u64,
    /// Read once and exit: 1 if an alert fires (a rule need not be violated for its whole time), 0 otherwise
    #[arg(long)]
    once: bool,
    /// Print one JSON object per alert
    #[arg(long)]
    json: bool,
}

/// Another limit of a rule.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    rule: &'static str,
    limit: f64,
    hold_s: Option<u64>,
}

fn read_change(text: &str) -> Result<Change, String> {
    let (name, rest) = text.split_once('=').ok_or("use RULE=LIMIT, for example QueueLate=120")?;
    let Some(rule) = RULES.iter().find(|rule| rule.name == name && rule.figure.is_some()) else {
        let known: Vec<&str> = RULES.iter().filter(|rule| rule.figure.is_some()).map(|rule| rule.name).collect();
        return Err(format!("there is no such rule; there are {}", known.join(", ")));
    };
    let (limit, hold) = rest.split_once(',').map_or((rest, None), |(limit, hold)| (limit, Some(hold)));
    let limit = limit
        .parse()
        .ok()
        .filter(|limit: &f64| limit.is_finite() && *limit >= 0.0)
        .ok_or("the limit must be a number, at least 0")?;
    let hold_s = hold.map(time::read_span).transpose()?.map(|ms| ms / 1_000);
    Ok(Change { rule: rule.name, limit, hold_s })
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    match arguments.command {
        Command::Watch(arguments) => watch(&arguments).await,
        Command::Prometheus(at) => exit_code(write(&generate::prometheus(&at.console)).map(|()| true), &[]),
        Command::Grafana => exit_code(write(&generate::grafana()).map(|()| true), &[]),
        Command::Page => exit_code(write(&generate::page()).map(|()| true), &[]),
    }
}

async fn watch(arguments: &WatchArguments) -> ExitCode {
    let (redis, database) = (arguments.redis.as_deref(), arguments.database.as_deref());
    on_addresses(redis, database, async |redis, database| Box::pin(evaluate_all(arguments, redis, database)).await)
        .await
}

/// Evaluates the rules until interrupted, or once.
async fn evaluate_all(arguments: &WatchArguments, redis: &Address, database: Option<&Address>) -> Result<bool> {
    let clock = Clock::system();
    let webhook = arguments.webhook.as_deref().map(Webhook::to).transpose()?;
    let every = Duration::from_millis(arguments.every.max(EVERY_MIN_MS));
    let notifier = webhook.map(|webhook| Notifier::start(webhook, clock.clone(), every));
    let database = database.map(Database::open).transpose()?;
    let (builder, options) = (Keel::builder().process_reports(false), LinkOptions::from_url(&redis.url)?);
    let keel =
        if arguments.once { builder.connect_with(options).await? } else { builder.connect_lazy_with(options).await? };
    let mut servers = Servers::new(keel, database, clock.clone());
    let mut evaluator = Evaluator::new(changed(&arguments.rule, arguments.once), &arguments.address.console);
    let mut complained = Vec::new();
    loop {
        let (reading, errors) = servers.read().await;
        if errors != complained {
            errors.iter().for_each(|error| eprintln!("{error}"));
        }
        complained = errors;
        for notice in evaluator.evaluate(clock.unix_ms(), &reading) {
            print(&notice, Output::new(arguments.json))?;
            if let Some(notifier) = &notifier {
                notifier.add(notice);
            }
        }
        if arguments.once {
            if let Some(notifier) = notifier {
                notifier.finish().await?;
            }
            if !reading.sick.is_empty() && !evaluator.is_any_firing() {
                bail!("no alert fires among what was read");
            }
            return Ok(!evaluator.is_any_firing());
        }
        clock.sleep(every).await;
    }
}

/// The rules with the limits of this call. A single reading cannot show for how long a rule is violated.
fn changed(changes: &[Change], is_once: bool) -> Vec<Rule> {
    let rules = RULES.iter().filter(|rule| rule.figure.is_some()).map(|rule| {
        let change = changes.iter().rev().find(|change| change.rule == rule.name);
        let limit = change.map_or(rule.limit, |change| change.limit);
        let hold_s = change.and_then(|change| change.hold_s).unwrap_or(rule.hold_s);
        Rule { limit, hold_s: if is_once { 0 } else { hold_s }, ..*rule }
    });
    rules.collect()
}

/// Prints the notice on one line.
fn print(notice: &Notice, output: Output) -> Result<()> {
    if output.json {
        return write(&format!("{}\n", serde_json::to_string(notice)?));
    }
    let state = match notice.state {
        State::Firing => "fires",
        State::Resolved => "is over",
    };
    let Notice { rule, subject, value, limit, meaning, action, page, .. } = notice;
    let see = if page.starts_with('/') { String::new() } else { format!(" See {page}") };
    let advice = if notice.state == State::Firing { format!(": {meaning} {action}{see}") } else { String::new() };
    let line = format!("{rule} {state} for {subject}: {value} (limit {limit}){advice}");
    write(&format!("{}\n", truncated(&line, LINE_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_rules_are_changed_by_name() {
        let change = Change { rule: "QueueLate", limit: 120.0, hold_s: Some(300) };
        assert_eq!(read_change("QueueLate=120,5m"), Ok(change.clone()));
        assert_eq!(read_change("DeadLetters=3"), Ok(Change { rule: "DeadLetters", limit: 3.0, hold_s: None }));
        for wrong in [
            "QueueLate",
            "QueueLate=",
            "QueueLate=much",
            "QueueLate=NaN",
            "QueueLate=-1",
            "Nothing=1",
            "HitRatioLow=1",
            "QueueLate=1,soon",
        ] {
            assert!(read_change(wrong).is_err(), "{wrong}");
        }
        let rules = changed(&[change], false);
        let late = rules.iter().find(|rule| rule.name == "QueueLate");
        assert_eq!(late.map(|rule| (rule.limit, rule.hold_s)), Some((120.0, 300)));
        assert!(changed(&[], true).iter().all(|rule| rule.hold_s == 0));
    }
}
