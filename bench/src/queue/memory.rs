//! Bytes of Redis's memory for each waiting job: everything, its index entry included.

use super::peer::Question;
use super::sides::{Sides, with_each};
use super::{BENCH, BODY_BYTES};
use crate::rounds::{Compared, Plan};
use crate::row::Row;
use anyhow::Result;

/// After these the indexes have their final form, and scripts are loaded.
const FIRST: usize = 1_000;
const UNIT: &str = "bytes";

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    let jobs = if plan.quick { 10_000 } else { 100_000 };
    let alone = Sides::alone("bench", 1).await?;
    let ours = bytes(&alone, jobs, async |question| alone.ours.ask(question).await.map(drop)).await?;
    let mut rows = vec![Row::alone(BENCH, title(jobs), UNIT, ours, None)];
    for (kind, sides) in with_each(1).await? {
        let Some(peer) = &sides.peer else { continue };
        let jobs = if kind.has_bulk { jobs } else { jobs / 5 };
        let peer = bytes(&sides, jobs, async |question| peer.ask(question).await.map(drop)).await?;
        let found = Compared { ours, peer, ratio: ours / peer, spread: 0.0 };
        rows.push(Row::compared(BENCH, format!("{}, against {}", title(jobs), kind.name), UNIT, kind.name, found));
    }
    Ok(rows)
}

fn title(jobs: usize) -> String {
    format!("a waiting job with a body of {BODY_BYTES} bytes, {jobs} of them")
}

async fn bytes(sides: &Sides, jobs: usize, fill: impl AsyncFn(Question) -> Result<()>) -> Result<f64> {
    let question = Question { r#do: "fill", jobs: FIRST, ..Question::default() };
    fill(question).await?;
    let before = sides.memory().await?;
    fill(Question { jobs, ..question }).await?;
    Ok((sides.memory().await? - before) / jobs as f64)
}
