//! Snowflake ids of one task.

use super::{BENCH, FERROID, INCREMENT, UNIT, ask, ferroid, increments, latency, rate};
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::id::{Layout, Snowflake};
use std::time::{Duration, Instant};

const LIMIT: &str = "the ids that their time has";
/// Ids per millisecond: 4,096 by default, 51.2 of those for JavaScript.
const LAYOUTS: [(&str, Layout, f64); 2] =
    [("default layout", Layout::new(41, 10, 12), 4_096_000.0), ("layout for JavaScript", Layout::js(), 51_200.0)];
/// Reserved ahead by default.
const AHEAD: Duration = Duration::from_secs(3);

pub(super) async fn run(plan: &Plan, url: &str) -> Result<Vec<Row>> {
    let keel = Keel::connect(url).await?;
    let mut rows = Vec::new();
    for (name, layout, limit) in LAYOUTS {
        let ids = keel.snowflake(&name.replace(' ', "-")).layout(layout).build().await?;
        drain(&ids).await?;
        let found = compare(plan, |span| issued(&ids, span), |_| async move { Ok(limit) }).await?;
        rows.push(Row::compared(BENCH, format!("snowflake, {name}, one task"), UNIT, LIMIT, found));
        ids.release().await?;
    }
    // 131,072 ids a millisecond: what is measured is the generator, not the limit of its layout.
    let ids = keel.snowflake("wide").layout(Layout::new(41, 5, 17)).build().await?;
    let title = |peer: &str| format!("snowflake, without the limit of a layout, against {peer}");
    let found = compare(plan, |span| issued(&ids, span), increments).await?;
    rows.push(Row::compared(BENCH, title(INCREMENT), UNIT, INCREMENT, found));
    rows.extend(latency(plan, "one snowflake id", async || Ok(ids.next().await?)).await?);
    match ferroid() {
        Ok(peer) => {
            let ids = keel.snowflake("beside").build().await?;
            drain(&ids).await?;
            let found = compare(plan, |span| issued(&ids, span), |span| ask(&peer, span)).await?;
            rows.push(Row::compared(BENCH, "snowflake, 4,096 ids per ms".to_owned(), UNIT, FERROID, found));
        }
        Err(error) => rows.push(Row::absent(BENCH, &format!("{FERROID} ({error:#})"))),
    }
    Ok(rows)
}

/// Ids a second of one task.
async fn issued(ids: &Snowflake, span: Duration) -> Result<f64> {
    rate(span, async || Ok(ids.next().await?)).await
}

/// Uses up what is reserved ahead, which is no rate that lasts.
async fn drain(ids: &Snowflake) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < AHEAD {
        issued(ids, Duration::from_millis(100)).await?;
    }
    Ok(())
}
