//! `dead redrive`: sends dead letters back, at a rate some at a time.

use crate::operations::group::What;
use crate::output::{Output, Progress, foreign};
use crate::queue::Servers;
use crate::queue::slices::SLICE_SECONDS;
use crate::time;
use anyhow::{Result, bail};
use evenkeel::clock::Clock;
use evenkeel::queue::topic::{DryRun, Filter, RedriveReport, TopicRedrive};
use serde_json::json;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct RedriveArguments {
    /// Topic
    topic: String,
    /// Only these jobs: 32 hexadecimal digits each, or the ids that their senders chose
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Name of the redrive; running the same name again continues it and redrives no dead letter twice (default: a new name)
    #[arg(long)]
    name: Option<String>,
    /// Only dead letters whose last error contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only dead letters whose body contains this text
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Only dead letters whose worker crashed (with =false: only those whose handler failed)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    crashed: Option<bool>,
    /// Only jobs that died at this time or later
    #[arg(long, value_name = "TIME", value_parser = time::read_time, allow_hyphen_values = true)]
    from: Option<u64>,
    /// Only jobs that died at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = time::read_time, allow_hyphen_values = true)]
    until: Option<u64>,
    /// Maximum number of jobs that become due per second (default: all at once). Sends back as many as become due in ten seconds, waits ten
    /// seconds, and so on; Ctrl-C stops it, and the rest stays dead
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<u32>,
    /// Stop after this many dead letters
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
    /// Only count the matching dead letters
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn redrive(servers: &Servers<'_>, arguments: RedriveArguments, output: Output) -> Result<bool> {
    What::redrive(arguments.rate)?;
    let topic = crate::queue::topic(servers, &arguments.topic).await?;
    let name = arguments.name.clone().unwrap_or_else(|| time::text(topic.now_ms()));
    let mut redrive = configured(topic.redrive(&name), &arguments);
    if !arguments.ids.is_empty() {
        redrive = redrive.only(crate::queue::job_ids(&topic, &arguments.ids).await?);
    }
    if arguments.dry_run {
        let found = redrive.dry_run().await?;
        let first: Vec<String> = found.first.iter().map(ToString::to_string).collect();
        let DryRun { matching, dead, .. } = found;
        let text = format!("{matching} of {dead} dead letters would be redriven\n");
        output.print(&json!({ "dry_run": true, "matching": matching, "dead": dead, "first": first }), &text)?;
        if let Some(rejection) = found.rejected.first() {
            bail!("the dead letters of {} are not counted: {}", rejection.part, rejection.error);
        }
        return Ok(true);
    }
    let progress = Progress::new(output);
    let ran = in_slices(&redrive, arguments.rate, arguments.limit, &progress).await;
    drop(progress);
    let (report, is_stopped) = match ran {
        Ok(ran) => ran,
        Err(error) => bail!("{error:#}; to continue this redrive, add --name '{name}'"),
    };
    let RedriveReport { taken, taken_in_all, seen, taken_before, died_later, began_at, filter } = report;
    let value = json!({
        "name": name, "taken": taken, "taken_in_all": taken_in_all, "seen": seen, "taken_before": taken_before,
        "died_later": died_later, "began_ms": began_at, "filter": filter, "stopped": is_stopped,
    });
    let name = foreign(&name);
    let mut text = format!("{taken} redriven by '{name}' ({taken_in_all} in total)\n");
    if taken_before > 0 {
        text.push_str(&format!(
            "{taken_before} skipped: this redrive has already redriven them, and they died again\n"
        ));
    }
    if died_later > 0 {
        text.push_str(&format!("{died_later} skipped: they died after the redrive began ({})\n", time::text(began_at)));
    }
    if filter != filter_of(&arguments) {
        text.push_str("this filter was ignored: a redrive keeps the filter that it began with\n");
    }
    if is_stopped {
        text.push_str(&format!("stopped: the rest stays dead; to continue, add --name '{name}'\n"));
    }
    output.print(&value, &text)?;
    Ok(!is_stopped)
}

/// Runs the redrive; with a rate some letters at a time, until a signal stops it. Returns whether one has.
async fn in_slices(
    redrive: &TopicRedrive,
    rate: Option<u32>,
    limit: Option<u64>,
    progress: &Progress,
) -> Result<(RedriveReport, bool)> {
    // Each slice reads the letters from the oldest on.
    let show = |before: u64, report: &RedriveReport| {
        progress.show(format_args!("{} seen, {} redriven", report.seen, before + report.taken));
    };
    let Some(rate) = rate else { return Ok((redrive.run_with(|report| show(0, report)).await?, false)) };
    let (clock, stop) = (Clock::system(), web::stop_requested()?);
    let mut stop = std::pin::pin!(stop);
    let slice = u64::from(rate.max(1)) * u64::from(SLICE_SECONDS);
    let mut all = RedriveReport::default();
    loop {
        let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(all.taken)).min(slice);
        let report = redrive.clone().limit(room).run_with(|report| show(all.taken, report)).await?;
        let taken = all.taken + report.taken;
        let is_last = report.taken < slice || limit.is_some_and(|limit| taken >= limit);
        all = RedriveReport { taken, ..report };
        if is_last {
            return Ok((all, false));
        }
        progress.show(format_args!("{taken} redriven; the next {slice} in {SLICE_SECONDS} s; Ctrl-C stops it"));
        tokio::select! {
            () = clock.sleep(Duration::from_secs(SLICE_SECONDS.into())) => {}
            () = &mut stop => return Ok((all, true)),
        }
    }
}

fn configured(redrive: TopicRedrive, arguments: &RedriveArguments) -> TopicRedrive {
    let mut redrive = redrive.filter(filter_of(arguments));
    if let Some(rate) = arguments.rate {
        redrive = redrive.per_second(rate);
    }
    if let Some(limit) = arguments.limit {
        redrive = redrive.limit(limit);
    }
    redrive
}

fn filter_of(arguments: &RedriveArguments) -> Filter {
    Filter {
        error_contains: arguments.error.clone(),
        body_contains: arguments.body.clone(),
        crashed: arguments.crashed,
        died_from: arguments.from,
        died_until: arguments.until,
    }
}
