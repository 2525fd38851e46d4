//! `watch`: alerts, printed and sent to a webhook.

use super::Desk;
use super::output::{Output, write};
use super::time;
use super::webhook::Webhook;
use anyhow::{Result, bail};
use evenkeel::queue::topic::alert::{Alert, AlertLimits, Watch};
use std::time::Duration;

/// What `watch` was asked for.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    /// Alert when more jobs than this wait
    #[arg(long, value_name = "NUMBER")]
    backlog: Option<u64>,
    /// Alert when the oldest due job has waited longer than this
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    late: Option<u64>,
    /// Alert when there are more dead letters than this
    #[arg(long, value_name = "NUMBER")]
    dead: Option<u64>,
    /// Alert when jobs have been due for this long and nobody claims any
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    idle: Option<u64>,
    /// Alert when a handler has been at one job for longer than this
    #[arg(long, value_name = "SPAN", value_parser = time::read_span)]
    running: Option<u64>,
    /// Send every alert there as a POST with a JSON body
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// How often to look
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "5s")]
    every: u64,
    /// Look once: exit code 1 if an alert stands
    #[arg(long)]
    once: bool,
}

pub(super) async fn run(desk: &Desk<'_>, arguments: &Arguments, output: Output) -> Result<bool> {
    let limits = AlertLimits {
        backlog_max: arguments.backlog,
        late_ms_max: arguments.late,
        dead_max: arguments.dead,
        idle_ms_max: arguments.idle,
        running_ms_max: arguments.running,
    };
    if limits == AlertLimits::default() {
        bail!("say what to watch: --backlog, --late, --dead, --idle or --running");
    }
    let webhook = arguments.webhook.as_deref().map(Webhook::to).transpose()?;
    let topics = super::topics(desk, &arguments.topics).await?;
    let mut watches: Vec<Watch> = topics.into_iter().map(|topic| Watch::new(topic, limits)).collect();
    loop {
        for watch in &mut watches {
            match watch.look().await {
                Ok(alerts) => {
                    for alert in alerts {
                        tell(&alert, webhook.as_ref(), output).await?;
                    }
                }
                // A watch that ends at the first interruption would be no watch.
                Err(error) if !arguments.once => eprintln!("{error}; looking again"),
                Err(error) => return Err(error.into()),
            }
        }
        if arguments.once {
            return Ok(watches.iter().all(|watch| watch.standing().next().is_none()));
        }
        tokio::time::sleep(Duration::from_millis(arguments.every.max(100))).await;
    }
}

/// One line an alert; as JSON one object a line, so that a program can follow.
async fn tell(alert: &Alert, webhook: Option<&Webhook>, output: Output) -> Result<()> {
    let value = serde_json::to_string(alert)?;
    write(&if output.json { format!("{value}\n") } else { format!("{alert}\n") })?;
    if let Some(webhook) = webhook
        && let Err(error) = webhook.send(value).await
    {
        eprintln!("the webhook did not take an alert: {error:#}");
    }
    Ok(())
}
