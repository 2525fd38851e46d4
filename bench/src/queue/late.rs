//! The time from a job's due time to the start of its handler, at a thousand jobs per second, while other jobs are due far later.

use super::BENCH;
use super::peer::{KINDS, Kind, Question};
use super::sides::{Both, Sides};
use crate::rounds::{Plan, compared};
use crate::row::Row;
use anyhow::Result;

const PER_SECOND: u64 = 1_000;
/// Jobs in one round without a peer: ten seconds of them.
const JOBS: usize = 10_000;
const LEAD_MS: u64 = 2_000;
const UNIT: &str = "ms";

/// Every queue runs with the first number of waiting jobs; with the second, only those that can be filled in a minute.
const WAITING: [usize; 2] = [100_000, 1_000_000];

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut both_counts = None;
    for kind in KINDS {
        let Some(sides) = Sides::with(kind, 1).await? else { continue };
        let rounds = if plan.quick || kind.late_jobs < JOBS { 1 } else { 2 };
        rows.extend(against(&sides, kind, waiting(plan, 0), 0, rounds, plan).await?);
        if both_counts.is_none() {
            both_counts = Some((kind, sides));
        }
    }
    let (first, second) = (waiting(plan, 0), waiting(plan, 1));
    match both_counts {
        Some((kind, sides)) => rows.extend(against(&sides, kind, second, first, 2, plan).await?),
        None => {
            let sides = Sides::alone("bench", 1).await?;
            rows.extend(alone(&sides, second, plan).await?);
        }
    }
    Ok(rows)
}

fn waiting(plan: &Plan, which: usize) -> usize {
    WAITING[which] / if plan.quick { 10 } else { 1 }
}

/// `before` of those that are to wait are there already.
async fn against(
    sides: &Sides,
    kind: Kind,
    waiting: usize,
    before: usize,
    rounds: usize,
    plan: &Plan,
) -> Result<Vec<Row>> {
    let fill = Question { r#do: "fill", jobs: waiting - before, ..Question::default() };
    sides.ask(0, fill, fill).await?;
    let mut answers = Vec::new();
    for round in 0..rounds {
        let ours = late(kind.late_jobs, LEAD_MS, plan);
        let peer = late(kind.late_jobs, kind.lead_ms, plan);
        answers.push(sides.ask(round, ours, peer).await?);
    }
    let row = |part: &str, value: fn(&Both) -> (f64, f64)| {
        let pairs: Vec<(f64, f64)> = answers.iter().map(value).collect();
        let title = format!("{}, against {}", title(part, waiting), kind.name);
        Row::compared(BENCH, title, UNIT, kind.name, compared(&pairs))
    };
    Ok(vec![
        row("p50", |both| (both.ours.p50, both.peer.p50)),
        row("p99", |both| (both.ours.p99, both.peer.p99)),
        row("longest", |both| (both.ours.max, both.peer.max)),
    ])
}

async fn alone(sides: &Sides, waiting: usize, plan: &Plan) -> Result<Vec<Row>> {
    sides.ours.ask(Question { r#do: "fill", jobs: waiting, ..Question::default() }).await?;
    let ours = sides.ours.ask(late(JOBS, LEAD_MS, plan)).await?;
    let row = |part: &str, value: f64| Row::alone(BENCH, title(part, waiting), UNIT, value, None);
    Ok(vec![row("p50", ours.p50), row("p99", ours.p99), row("longest", ours.max)])
}

fn late(jobs: usize, lead_ms: u64, plan: &Plan) -> Question {
    let jobs = if plan.quick { jobs / 5 } else { jobs };
    Question { r#do: "late", jobs, per_second: PER_SECOND, lead_ms, ..Question::default() }
}

fn title(part: &str, waiting: usize) -> String {
    format!("from due time to start, {PER_SECOND} jobs/s, {waiting} waiting: {part}")
}
