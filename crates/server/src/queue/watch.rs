//! `watch`: prints alerts, and sends them to a webhook.

use super::Servers;
use crate::output::{Output, foreign, warn, write, write_json};
use crate::time;
use crate::webhook::Webhook;
use anyhow::{Result, bail};
use evenkeel::queue::topic::alert::{Alert, AlertLimits, Watch};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    /// Alert if more jobs than this are waiting
    #[arg(long, value_name = "NUMBER")]
    backlog: Option<u64>,
    /// Alert if the oldest due job has waited longer than this
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    late: Option<u64>,
    /// Alert if there are more dead letters than this
    #[arg(long, value_name = "NUMBER")]
    dead: Option<u64>,
    /// Alert if jobs have been due for this long and no consumer claims any
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    idle: Option<u64>,
    /// Alert if a job has been running for longer than this
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    running: Option<u64>,
    /// Send each alert to this URL, as a POST with a JSON body
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Interval between checks, for example 5s; at least 100ms
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "5s")]
    every: u64,
    /// Check once and exit: 1 if an alert is active, 0 otherwise
    #[arg(long)]
    once: bool,
}

#[expect(clippy::disallowed_methods, reason = "the interval between checks")]
pub(super) async fn run(servers: &Servers<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let limits = AlertLimits {
        backlog_max: arguments.backlog,
        late_ms_max: arguments.late,
        dead_max: arguments.dead,
        idle_ms_max: arguments.idle,
        running_ms_max: arguments.running,
    };
    if limits == AlertLimits::default() {
        bail!("nothing to watch: add --backlog, --late, --dead, --idle or --running");
    }
    let webhook = arguments.webhook.as_deref().map(Webhook::to).transpose()?;
    let sender = webhook.map(Sender::start);
    let topics = super::topics(servers, &arguments.topics).await?;
    topics.rejected.iter().for_each(|rejection| warn(&format!("not watched: {rejection}")));
    let is_whole = topics.rejected.is_empty();
    let mut watches: Vec<Watch> = topics.found.into_iter().map(|topic| Watch::new(topic, limits)).collect();
    loop {
        let mut failed = None;
        for watch in &mut watches {
            match watch.look().await {
                Ok(alerts) => {
                    for alert in alerts {
                        send(&alert, sender.as_ref(), output)?;
                    }
                }
                Err(error) if !arguments.once => warn(&format!("{error}; retrying")),
                // It hides no other topic.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if arguments.once {
            if let Some(sender) = sender {
                sender.finish().await?;
            }
            if let Some(error) = failed {
                return Err(error.into());
            }
            return Ok(is_whole && watches.iter().all(|watch| watch.active().next().is_none()));
        }
        tokio::time::sleep(Duration::from_millis(arguments.every.max(100))).await;
    }
}

/// Alerts that wait for the webhook at most.
const WAITING_MAX: usize = 1_000;

/// Sends alerts in a task of its own: a webhook that hangs delays neither the next check nor what is printed.
struct Sender {
    bodies: mpsc::Sender<String>,
    task: JoinHandle<()>,
}

impl Sender {
    fn start(webhook: Webhook) -> Self {
        let (bodies, mut receiver) = mpsc::channel::<String>(WAITING_MAX);
        let task = tokio::spawn(async move {
            while let Some(body) = receiver.recv().await {
                if let Err(error) = webhook.send(body).await {
                    warn(&format!("the webhook did not accept an alert: {error:#}"));
                }
            }
        });
        Self { bodies, task }
    }

    fn add(&self, body: String) {
        if self.bodies.try_send(body).is_err() {
            warn(&format!("an alert is not sent to the webhook: {WAITING_MAX} alerts wait for it"));
        }
    }

    /// Waits until every alert was sent, or not accepted.
    async fn finish(self) -> Result<()> {
        drop(self.bodies);
        Ok(self.task.await?)
    }
}

/// Prints the alert on one line, with `--json` as one object per line, and gives it to the webhook's task.
fn send(alert: &Alert, webhook: Option<&Sender>, output: Output) -> Result<()> {
    let value = serde_json::to_string(alert)?;
    let written = if output.json { write_json(&value) } else { write(&(foreign(&alert.to_string()) + "\n")) };
    written?;
    if let Some(webhook) = webhook {
        webhook.add(value);
    }
    Ok(())
}
