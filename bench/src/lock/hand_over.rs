//! Hand-over of a lock to waiters: its duration and its number of commands. Each task acquires once; a task that asked again at once would
//! win while the others sleep, and the benchmark would measure barging.

use super::ours::Where;
use super::peers::Peer;
use super::{BENCH, Stand};
use crate::info;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use std::future::Future;
use std::time::Duration;

const WAITERS: [usize; 3] = [1, 10, 100];
/// The holders, and how long each holds the lock.
const HOLDERS: usize = 8;
const HOLD: Duration = Duration::from_millis(5);
const PLACES: [Where; 2] = [Where::Together, Where::Apart];
/// What a client sends for a lock. Ours sends scripts only, in which Redis counts other commands, too; others take theirs by `SET`.
const OURS: [&str; 7] = ["eval", "evalsha", "fcall", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe"];
const THEIRS: [&str; 3] = ["eval", "evalsha", "set"];
const WHY_LATE: &str = "processes receive a notification of the release and then send a request";
const WHY_MORE: &str =
    "each waiting process subscribes first and then sends one more request, so that it misses no release";

pub(crate) async fn run(plan: &Plan, stand: &Stand) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for place in PLACES {
        for peer in &stand.peers {
            rows.push(holds(plan, stand, peer, place).await?);
        }
    }
    rows.push(alone(plan).await?);
    for place in PLACES {
        for waiters in WAITERS {
            for peer in &stand.peers {
                rows.extend(waits(&plan.shortened(), stand, peer, place, waiters).await?);
            }
        }
    }
    Ok(rows)
}

async fn holds(plan: &Plan, stand: &Stand, peer: &Peer, place: Where) -> Result<Row> {
    let ours = |_| stand.ours.holds(HOLDERS, place, HOLD);
    let what = if place == Where::Apart { "holds apart" } else { "holds" };
    let theirs = |_| peer.ask(what, 0, HOLDERS, HOLD);
    let found = compare(plan, ours, theirs).await?;
    let title = format!("{HOLDERS} {} that each hold it for 5 ms, against {}", words(place, HOLDERS), peer.name);
    Ok(Row::compared(BENCH, title, "ms", peer.name, found).where_behind(WHY_LATE))
}

/// The same holds one after another with no lock at all.
async fn alone(plan: &Plan) -> Result<Row> {
    let mut took = Vec::new();
    for _ in 0..plan.rounds {
        let start = std::time::Instant::now();
        for _ in 0..HOLDERS {
            tokio::task::spawn_blocking(|| std::thread::sleep(HOLD)).await?;
        }
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let title = format!("{HOLDERS} holds of 5 ms one after another, without a lock");
    Ok(Row::alone(BENCH, title, "ms", crate::rounds::median(took), None))
}

async fn waits(plan: &Plan, stand: &Stand, peer: &Peer, place: Where, waiters: usize) -> Result<[Row; 2]> {
    let ours = || stand.ours.hand_over(waiters, place);
    let what = if place == Where::Apart { "hand-over apart" } else { "hand-over" };
    let theirs = || peer.ask(what, 0, waiters, Duration::ZERO);
    let found = compare(plan, |_| ours(), |_| theirs()).await?;
    let title = format!("hand-over, {waiters} {} wait, against {}", words(place, waiters), peer.name);
    let late = Row::compared(BENCH, title.clone(), "ms", peer.name, found).where_behind(WHY_LATE);
    let count =
        compare(plan, |_| commands(stand, waiters, &OURS, ours()), |_| commands(stand, waiters, &THEIRS, theirs()));
    let title = format!("commands per {title}, including the 100 ms before the release");
    Ok([late, Row::compared(BENCH, title, "commands", peer.name, count.await?).where_behind(WHY_MORE)])
}

/// The number of commands per waiter.
async fn commands(
    stand: &Stand,
    waiters: usize,
    names: &[&str],
    measured: impl Future<Output = Result<f64>>,
) -> Result<f64> {
    info::reset(&stand.redis).await?;
    measured.await?;
    Ok(info::calls(&stand.redis, names).await? as f64 / waiters as f64)
}

fn words(place: Where, count: usize) -> &'static str {
    match (place, count) {
        (Where::Together, 1) => "task of the same process",
        (Where::Together, _) => "tasks of the same process",
        (Where::Apart, 1) => "other process",
        (Where::Apart, _) => "other processes",
    }
}
