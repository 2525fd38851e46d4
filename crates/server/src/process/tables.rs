//! The process reports as tables: processes, caches, held locks.
//!
//! Any program that may write to Redis may write a report: its texts are cut.

use super::figures::{self, CacheSum, host_and_pid, ignored, reports, slots};
use crate::listing::Listing;
use crate::output::truncated;
use crate::time::{distance, span};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::process::{LockReport, Process, Processes};
use serde_json::{Value, json};

/// Characters of a name.
const NAME_MAX: usize = 64;
/// Characters of a version.
const VERSION_MAX: usize = 20;

/// The processes that have reported, the latest first.
pub(crate) async fn processes(keel: &Keel) -> Result<Listing> {
    let found = keel.processes().await?;
    Ok(Listing {
        headings: vec!["HOST", "PID", "STATE", "SEEN", "UP", "VERSION", "EPOCH", "SLOTS", "JOBS", "LOCKS"],
        rows: found.processes.iter().map(|process| row(process, found.now_ms)).collect(),
        ranks: found.processes.iter().map(|process| (u8::from(!process.is_alive(found.now_ms)), 0)).collect(),
        empty: not_reported(keel),
        notes: notes(&found),
        rejected: Vec::new(),
        value: json(&found),
    })
}

/// The caches with their counters, over the processes that have a report.
pub(crate) async fn caches(keel: &Keel) -> Result<Listing> {
    let found = keel.processes().await?;
    let sums = figures::caches(&found);
    let is_reported = reports(&found).next().is_some();
    Ok(Listing {
        headings: vec![
            "CACHE",
            "HIT RATIO",
            "HITS",
            "STALE HITS",
            "NEAR HITS",
            "MISSES",
            "LOADS",
            "FAILED LOADS",
            "SHED",
            "PROCESSES",
        ],
        rows: sums.iter().map(|(cache, sum)| cache_row(cache, sum)).collect(),
        ranks: sums.values().map(|sum| (u8::from(sum.shed > 0), sum.shed)).collect(),
        empty: if is_reported { "no process has reported a cache".to_owned() } else { not_reported(keel) },
        notes: notes(&found),
        rejected: Vec::new(),
        value: sums.iter().map(|(cache, sum)| cache_json(cache, sum)).collect(),
    })
}

/// The locks that living processes hold, those that are held for the longest time first.
pub(crate) async fn locks(keel: &Keel) -> Result<Listing> {
    let found = keel.processes().await?;
    let held = figures::locks(&found);
    let is_reported = figures::living(&found).next().is_some();
    Ok(Listing {
        headings: vec!["LOCK", "HOST", "PID", "FENCE", "HELD FOR"],
        rows: held.iter().map(|(process, lock)| lock_row(process, lock, found.now_ms)).collect(),
        ranks: Vec::new(),
        empty: if is_reported {
            "no process has reported a held lock; `evenkeel lock ls` looks for locks in Redis".to_owned()
        } else {
            not_reported(keel)
        },
        notes: notes(&found),
        rejected: Vec::new(),
        value: held.iter().map(|(process, lock)| lock_json(process, lock)).collect(),
    })
}

fn not_reported(keel: &Keel) -> String {
    let prefix = keel.link().map(|link| link.prefix()).unwrap_or_default();
    format!(
        "no process has reported under the prefix {prefix:?} within the last hour; a process reports ten seconds after its start, unless it \
         has switched that off"
    )
}

/// What the table does not show.
fn notes(found: &Processes) -> Vec<String> {
    let further = (found.further > 0).then(|| format!("{} further processes reported earlier", found.further));
    further.into_iter().chain(ignored(found)).collect()
}

fn row(process: &Process, now_ms: u64) -> Vec<String> {
    let state = if process.is_alive(now_ms) { "alive" } else { "stale" };
    let seen = distance(process.seen_ms, now_ms);
    let [host, pid] = host_of(process);
    let Some(report) = &process.report else {
        return [host.as_str(), &pid, state, &seen, "-", "-", "-", "-", "-", "-"].map(str::to_owned).to_vec();
    };
    let used = slots(report);
    vec![
        host,
        pid,
        state.to_owned(),
        seen,
        span(now_ms.saturating_sub(report.started_ms)),
        truncated(&report.version, VERSION_MAX),
        report.epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string()),
        used.map_or_else(|| "-".to_owned(), |(used, of)| format!("{used}/{of}")),
        report.jobs.len().to_string(),
        report.locks.len().to_string(),
    ]
}

/// Host and process id, as reported.
fn host_of(process: &Process) -> [String; 2] {
    match &process.report {
        Some(report) => [truncated(&report.host, NAME_MAX), report.pid.to_string()],
        None => host_and_pid(process),
    }
}

fn json(found: &Processes) -> Value {
    let process = |process: &Process| {
        json!({
            "id": process.id,
            "seen_ms": process.seen_ms,
            "alive": process.is_alive(found.now_ms),
            "report": process.report,
        })
    };
    json!({
        "now_ms": found.now_ms,
        "processes": found.processes.iter().map(process).collect::<Vec<_>>(),
        "further": found.further,
        "ignored": found.ignored,
    })
}

fn cache_row(cache: &str, sum: &CacheSum) -> Vec<String> {
    let ratio = sum.hit_ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.1} %"));
    let counters =
        [sum.hits, sum.stale_hits, sum.near_hits, sum.misses, sum.loads, sum.loads_failed, sum.shed, sum.processes];
    [truncated(cache, NAME_MAX), ratio].into_iter().chain(counters.map(|counter| counter.to_string())).collect()
}

fn cache_json(cache: &str, sum: &CacheSum) -> Value {
    json!({
        "cache": cache, "hit_ratio_percent": sum.hit_ratio(), "hits": sum.hits, "stale_hits": sum.stale_hits,
        "near_hits": sum.near_hits, "misses": sum.misses, "loads": sum.loads, "loads_failed": sum.loads_failed,
        "shed": sum.shed, "processes": sum.processes,
    })
}

fn lock_row(process: &Process, lock: &LockReport, now_ms: u64) -> Vec<String> {
    let [host, pid] = host_of(process);
    let held = span(now_ms.saturating_sub(lock.since_ms));
    vec![truncated(&lock.lock, NAME_MAX), host, pid, lock.fence.to_string(), held]
}

fn lock_json(process: &Process, lock: &LockReport) -> Value {
    json!({ "lock": lock.lock, "process": process.id, "fence": lock.fence, "since_ms": lock.since_ms })
}
