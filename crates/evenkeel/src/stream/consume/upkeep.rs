//! What every consumer does for its group from time to time: measures how far behind it is, removes entries that all groups have settled, and
//! removes consumers that are gone.

use super::run::Run;
use crate::stream::base::Base;
use crate::stream::stream::Core;
use evenkeel_link::support::{Tried, ms};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{GroupStats, ITEMS_MAX, ReadStats, Reply, Sweep, Trim, Trimmed};
use metrics::counter;
use std::sync::Arc;
use std::time::Duration;

/// How often the group is measured, with 25 % jitter.
const MEASURE: Duration = Duration::from_secs(10);
/// How many measurements lie between two trims.
const TRIM_EVERY: u32 = 6;
/// How many measurements lie between two times at which checkpoints are stored in the database.
#[cfg(feature = "sql")]
const SAVE_EVERY: u32 = 3;
/// The most calls of one trim for each partition.
const TRIM_CALLS_MAX: u32 = 100;
/// After this silence a consumer without pending entries is removed.
const SILENT: Duration = Duration::from_secs(3_600);

/// Measures and trims until the task is dropped.
pub(crate) async fn keep_up<T: Send + Sync + 'static>(run: Arc<Run<T>>) {
    for round in 0_u32.. {
        let jitter = MEASURE.mul_f64(0.75 + rand::random::<f64>() / 2.0);
        run.core.base.clock.sleep(jitter).await;
        if let Err(error) = measure(&run).await {
            run.metrics.failed("stats", &error);
        }
        if round % TRIM_EVERY == 0 {
            if let Err(error) = trim_core(&run.core).await {
                run.metrics.failed("trim", &error);
            }
            if let Err(error) = sweep(&run).await {
                run.metrics.failed("sweep", &error);
            }
        }
        #[cfg(feature = "sql")]
        if round % SAVE_EVERY == 0
            && let Err(error) = crate::stream::sql::save(&run.core.base, &run.group, run.settings.ordering.mode()).await
        {
            run.metrics.failed("save", &error);
        }
    }
}

async fn measure<T>(run: &Run<T>) -> Result<(), StreamError> {
    let base = &run.core.base;
    let (mut all, mut tried) = (Vec::<GroupStats>::new(), Tried::unless(StreamError::is_retryable));
    for partition in &base.partitions {
        if let Some(Reply::Done(stats)) =
            tried.note(base.store.run(partition, &ReadStats { group: run.group.clone() }).await)?
        {
            all.push(stats);
        }
    }
    let oldest = |of: fn(&GroupStats) -> Option<u64>| {
        let ages = all.iter().filter_map(|stats| of(stats).map(|ms| stats.now.saturating_sub(ms)));
        ages.max().unwrap_or(0) as f64 / 1000.0
    };
    run.metrics.lag_seconds.set(oldest(|stats| stats.unread.map(|id| id.ms)));
    run.metrics.oldest_pending_seconds.set(oldest(|stats| stats.oldest_pending.map(|id| id.ms)));
    // Where the server does not know the number, the last one stays.
    if let Some(entries) = all.iter().map(|stats| stats.unread_entries).sum::<Option<u64>>() {
        run.metrics.lag_entries.set(entries as f64);
    }
    run.metrics.pending.set(all.iter().map(|stats| stats.pending).sum::<u64>() as f64);
    run.metrics.dead_letters.set(all.iter().map(|stats| stats.dead).sum::<u64>() as f64);
    tried.finish()
}

/// Removes consumers that have been silent for long.
async fn sweep<T>(run: &Run<T>) -> Result<(), StreamError> {
    let mut tried = Tried::unless(StreamError::is_retryable);
    for partition in &run.core.base.partitions {
        tried.note(
            run.core.base.store.run(partition, &Sweep { group: run.group.clone(), silent_ms: ms(SILENT) }).await,
        )?;
    }
    tried.finish()
}

async fn trim_core<T>(core: &Core<T>) -> Result<u64, StreamError> {
    trim(&core.base, ms(core.settings.retention)).await
}

/// Removes the entries that every registered group has settled and that are older than `retain_ms`; returns their number. An error of one
/// partition stops no other.
pub(crate) async fn trim(base: &Base, retain_ms: u64) -> Result<u64, StreamError> {
    // A registered group that this program cannot name may not have handled the entries.
    let groups: Vec<GroupName> = base.groups().await?.all()?.into_iter().map(|(group, _)| group).collect();
    let (mut removed, mut tried, mut has_refused) = (0, Tried::unless(StreamError::is_retryable), false);
    for partition in &base.partitions {
        for _ in 0..TRIM_CALLS_MAX {
            let trim = Trim { groups: groups.clone(), retain_ms, limit: ITEMS_MAX };
            match tried.note(base.store.run(partition, &trim).await)? {
                Some(Trimmed::Removed { entries, more }) => {
                    removed += entries;
                    if !more {
                        break;
                    }
                }
                Some(Trimmed::GroupMissing(group)) => {
                    if let Some(times) = base.failing.line_due("trim", &group) {
                        tracing::warn!(stream = %base.name, %group, times, "nothing is trimmed: a registered group is missing in a partition");
                    }
                    has_refused = true;
                    counter!("evenkeel_stream_trims_refused_total", "stream" => Arc::clone(&base.name)).increment(1);
                    break;
                }
                Some(Trimmed::Missing) | None => break,
            }
        }
    }
    if !has_refused {
        base.failing.over("trim");
    }
    tried.finish().map(|()| removed)
}
