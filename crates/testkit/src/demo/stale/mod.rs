//! `demo stale`: runs the same adversarial schedule and the same random load against hand-made caches, the published protocols, and the
//! fenced cache, and counts the stale reads of each. Only the schedule is scripted.
//!
//! Time is simulated (the runtime's clock is paused and jumps to the next event), the stores are in this process, and the protocols are
//! the library's own code. So a run takes seconds, and a seed repeats it.

mod by_hand;
mod contestant;
mod play;
mod product;
mod schedule;
mod simulation;
mod table;

pub use play::Score;
pub use table::{Row, render};

use by_hand::{ByHand, OnWrite, Store};
use contestant::{Contestant, Entrant};
use evenkeel::clock::Clock;
use schedule::Event;
use simulation::Simulation;
use std::sync::Arc;
use std::time::Duration;

/// TTL of a value, if the contestant uses one.
const TTL: Duration = Duration::from_secs(30);

/// Runs both schedules against all contestants.
///
/// # Errors
/// The runtime could not be created.
pub fn run(seed: u64) -> anyhow::Result<Vec<Row>> {
    run_some(seed, |_| true)
}

/// Runs both schedules against the contestants with the selected names.
///
/// # Errors
/// As [`run`].
pub fn run_some(seed: u64, requested: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let (adversarial, storm) = (schedule::adversarial(), schedule::storm(seed));
        let mut rows = Vec::new();
        for name in names().await.into_iter().filter(|name| requested(name)) {
            let adversarial = play_one(&name, &adversarial).await?;
            let storm = play_one(&name, &storm).await?;
            rows.push(Row { name, adversarial, storm });
        }
        Ok(rows)
    })
}

async fn play_one(name: &str, events: &[Event]) -> anyhow::Result<Score> {
    let simulation = Simulation::new(Clock::simulated());
    let entrant = entrants(&simulation).await?.into_iter().find(|entrant| entrant.name == name);
    let entrant = entrant.ok_or_else(|| anyhow::anyhow!("there is no contestant {name}"))?;
    Ok(play::play(&simulation, entrant.contestant, events).await)
}

async fn names() -> Vec<String> {
    let simulation = Simulation::new(Clock::system());
    entrants(&simulation).await.map(|all| all.into_iter().map(|entrant| entrant.name).collect()).unwrap_or_default()
}

async fn entrants(simulation: &Arc<Simulation>) -> anyhow::Result<Vec<Entrant>> {
    let by_hand = |on_write, ttl| ByHand {
        simulation: Arc::clone(simulation),
        on_write,
        ttl,
        reads_replica: false,
        loses_commands: false,
        compares_versions: false,
        store: Arc::new(Store::default()),
    };
    let plain = |on_write| by_hand(on_write, Some(TTL));
    let mut all = vec![
        entrant("cache-aside: commit, then delete", plain(OnWrite::CommitThenDelete)),
        entrant("cache-aside: delete, then commit", plain(OnWrite::DeleteThenCommit)),
        entrant(
            "cache-aside, loads from a replica",
            ByHand { reads_replica: true, ..plain(OnWrite::CommitThenDelete) },
        ),
        entrant(
            "cache-aside, some deletes time out",
            ByHand { loses_commands: true, ..plain(OnWrite::CommitThenDelete) },
        ),
        entrant("write both: commit, then set", plain(OnWrite::CommitThenSet)),
        entrant("write both, some sets time out", ByHand { loses_commands: true, ..plain(OnWrite::CommitThenSet) }),
        entrant("write both: set, then commit or roll back", plain(OnWrite::SetThenCommit)),
        entrant(
            "version compare, but writes delete",
            ByHand { compares_versions: true, ..plain(OnWrite::CommitThenDelete) },
        ),
    ];
    for delay_ms in [100, 500, 1_000, 2_000] {
        for (ttl, text) in [(Some(TTL), "ttl 30 s"), (None, "no ttl")] {
            let twice = OnWrite::DeleteTwice(Duration::from_millis(delay_ms));
            all.push(entrant(&format!("double delete by hand after {delay_ms} ms, {text}"), by_hand(twice, ttl)));
        }
    }
    all.extend(product::entrants(simulation).await?);
    Ok(all)
}

fn entrant(name: &str, contestant: impl Contestant + 'static) -> Entrant {
    Entrant { name: name.to_owned(), contestant: Arc::new(contestant) }
}
