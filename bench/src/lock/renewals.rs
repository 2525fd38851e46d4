//! Ten thousand held locks, each renewed every second.

use super::peers::Peer;
use super::{BENCH, Stand};
use crate::info;
use crate::rounds::{Plan, compared};
use crate::row::Row;
use anyhow::{Result, ensure};
use std::time::Duration;

const LOCKS: u64 = 10_000;
/// Ours are renewed every third of it.
const TTL: Duration = Duration::from_secs(3);
const WHY: &str = "a renewal reads and writes the whole record of the holder, about fifty bytes";

/// What one side did.
#[derive(Clone, Copy)]
struct Renewed {
    per_second: f64,
    /// Redis's time for one.
    micros: f64,
}

pub(crate) async fn run(plan: &Plan, stand: &Stand) -> Result<Vec<Row>> {
    let span = if plan.quick { Duration::from_secs(2) } else { Duration::from_secs(5) };
    let mut rows = Vec::new();
    for peer in &stand.peers {
        let mut rounds = Vec::new();
        for round in 0..plan.shortened().rounds.min(3) {
            rounds.push(if round % 2 == 0 {
                let ours = ours(stand, span).await?;
                (ours, theirs(stand, peer, span).await?)
            } else {
                let theirs = theirs(stand, peer, span).await?;
                (ours(stand, span).await?, theirs)
            });
        }
        let row = |what: &str, unit, value: fn(&Renewed) -> f64| {
            let pairs: Vec<(f64, f64)> = rounds.iter().map(|(ours, peer)| (value(ours), value(peer))).collect();
            let title = format!("{LOCKS} held locks, renewed every second: {what}, against {}", peer.name);
            Row::compared(BENCH, title, unit, peer.name, compared(&pairs)).where_behind(WHY)
        };
        rows.push(row("renewals, a command each", "renewals/s", |renewed| renewed.per_second));
        rows.push(row("Redis's time for one", "µs", |renewed| renewed.micros));
    }
    Ok(rows)
}

async fn ours(stand: &Stand, span: Duration) -> Result<Renewed> {
    let held = stand.ours.take(LOCKS, TTL).await?;
    info::reset(&stand.redis).await?;
    let before = info::cpu(&stand.redis).await?;
    tokio::time::sleep(span).await;
    let calls = info::calls(&stand.redis, &["evalsha", "fcall"]).await? as f64;
    let cpu = info::cpu(&stand.redis).await? - before;
    let lost = held.iter().filter(|guard| guard.is_lost()).count();
    ensure!(lost == 0, "{lost} of {LOCKS} locks were lost");
    stand.ours.give_back(held).await?;
    Ok(Renewed { per_second: calls / span.as_secs_f64(), micros: cpu * 1e6 / calls })
}

async fn theirs(stand: &Stand, peer: &Peer, span: Duration) -> Result<Renewed> {
    peer.ask("take", LOCKS, 0, span).await?;
    let before = info::cpu(&stand.redis).await?;
    let per_second = peer.ask("renew", LOCKS, 0, span).await?;
    let cpu = info::cpu(&stand.redis).await? - before;
    peer.ask("give back", 0, 0, span).await?;
    Ok(Renewed { per_second, micros: cpu * 1e6 / (per_second * span.as_secs_f64()) })
}
