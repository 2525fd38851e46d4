//! Jobs handled per second by one process that runs a hundred at once and does nothing in them, and what a job costs Redis from
//! its sending to its end.

use super::peer::Question;
use super::sides::{Sides, with_each};
use super::{BENCH, SHARDS};
use crate::rounds::{Plan, compared};
use crate::row::Row;
use anyhow::Result;

/// What ours handles in about a second.
const JOBS: usize = 60_000;

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let rounds = plan.rounds.div_ceil(4);
    let mut rows = Vec::new();
    for shards in [1, SHARDS] {
        let alone = Sides::alone("bench", shards).await?;
        let (rates, costs) = rounds_of(&alone, rounds, JOBS, 0).await?;
        let (rates, costs) = (compared(&rates), compared(&costs));
        rows.push(Row::alone(BENCH, handled(shards), "jobs/s", rates.ours, None));
        rows.push(Row::alone(BENCH, cost(shards), "us", costs.ours, None));
    }
    for (kind, sides) in with_each(SHARDS).await? {
        let (rates, costs) = rounds_of(&sides, rounds, JOBS, kind.jobs).await?;
        let against = |row: String| format!("{row}, against {}", kind.name);
        rows.push(Row::compared(BENCH, against(handled(SHARDS)), "jobs/s", kind.name, compared(&rates)));
        rows.push(Row::compared(BENCH, against(cost(SHARDS)), "us", kind.name, compared(&costs)));
    }
    Ok(rows)
}

fn handled(shards: u16) -> String {
    format!("jobs handled, 100 at once, {shards} shards")
}

fn cost(shards: u16) -> String {
    format!("Redis's processor time for a job, sent in bulk and handled, {shards} shards")
}

type Pairs = Vec<(f64, f64)>;

/// Rates, and microseconds of Redis for a job, of ours and the peer.
async fn rounds_of(sides: &Sides, rounds: usize, ours: usize, peer: usize) -> Result<(Pairs, Pairs)> {
    let (mut rates, mut costs) = (Pairs::new(), Pairs::new());
    for round in 0..=rounds {
        let (mut rate, mut cost) = ([0.0; 2], [0.0; 2]);
        for turn in 0..2 {
            // 0 is ours, 1 the peer; the first alternates.
            let side = (turn + round) % 2;
            let jobs = [ours, peer][side];
            let question = Question { r#do: "work", jobs, ..Question::default() };
            let before = sides.cpu().await?;
            let answer = match (side, &sides.peer) {
                (0, _) => sides.ours.ask(question).await?,
                (_, Some(peer)) => peer.ask(question).await?,
                (_, None) => continue,
            };
            rate[side] = answer.rate;
            cost[side] = (sides.cpu().await? - before) * 1e6 / jobs as f64;
        }
        // The first is for warming up.
        if round > 0 {
            rates.push((rate[0], rate[1]));
            costs.push((cost[0], cost[1]));
        }
    }
    Ok((rates, costs))
}
