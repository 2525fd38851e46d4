//! What open browsers cost Redis: its CPU time, and the time that it executes commands.

use super::http::{Events, get};
use super::{BENCH, OTHER_TOPICS, Size, TOPIC};
use crate::info::{cpu, executing_us, reset};
use crate::rounds::{Compared, Plan};
use crate::row::Row;
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};
use testkit::servers::Redis;
use tokio::task::JoinSet;

const BROWSERS: usize = 10;
/// The limit, as a part of Redis's time.
const LIMIT: f64 = 0.01;
const LIMIT_NAME: &str = "the limit of the console";
/// How often a browser that is used loads a page.
const CLICK: Duration = Duration::from_secs(10);

/// Redis's share of its time without a console.
pub(super) async fn idle(plan: &Plan, redis: &Redis) -> Result<f64> {
    let wait = async || {
        tokio::time::sleep(span(plan) / 3).await;
        Ok(())
    };
    Ok(share(redis, wait).await?.cpu)
}

pub(super) async fn run(plan: &Plan, redis: &Redis, address: &str, size: Size, idle: f64) -> Result<Vec<Row>> {
    let span = span(plan);
    let open = share(redis, async || browsers(address, span, None).await).await?;
    let pages = ["/".to_owned(), format!("/queues/{TOPIC}"), format!("/queues/{TOPIC}/jobs"), "/streams".to_owned()];
    let used = share(redis, async || browsers(address, span, Some(&pages)).await).await?;
    let over = format!(
        "{BROWSERS} browsers, {} topics, {} jobs, {} dead letters, {} s",
        OTHER_TOPICS + 1,
        size.jobs,
        size.dead,
        span.as_secs()
    );
    let row = |what: &str, part: f64| {
        let found = Compared { ours: part * 100.0, peer: LIMIT * 100.0, ratio: part / LIMIT, spread: f64::NAN };
        let mut row = Row::compared(BENCH, format!("{what}, {over}"), "% of Redis's time", LIMIT_NAME, found);
        row.spread = None;
        row
    };
    let alone =
        Row::alone(BENCH, "Redis's CPU time without a console".to_owned(), "% of Redis's time", idle * 100.0, None);
    Ok(vec![
        row("open pages: executing commands (those of scripts count twice)", open.executing),
        row("open pages: CPU time of Redis, beyond that without a console", open.cpu - idle),
        row("open pages, each browser loads a page every 10 s: executing commands", used.executing),
        row(
            "open pages, each browser loads a page every 10 s: CPU time, beyond that without a console",
            used.cpu - idle,
        ),
        alone,
    ])
}

fn span(plan: &Plan) -> Duration {
    Duration::from_secs(if plan.quick { 12 } else { 60 })
}

/// Parts of Redis's time.
struct Share {
    cpu: f64,
    executing: f64,
}

/// Redis's share while something happens.
async fn share(redis: &Redis, meanwhile: impl AsyncFnOnce() -> Result<()>) -> Result<Share> {
    reset(redis).await?;
    let (began, before) = (Instant::now(), cpu(redis).await?);
    meanwhile().await?;
    let (after, wall) = (cpu(redis).await?, began.elapsed().as_secs_f64());
    Ok(Share { cpu: (after - before) / wall, executing: executing_us(redis).await? / 1e6 / wall })
}

/// Browsers with the overview open, which load these pages in turn.
async fn browsers(address: &str, span: Duration, pages: Option<&[String]>) -> Result<()> {
    let mut open = JoinSet::new();
    for number in 0..BROWSERS {
        let (address, pages) = (address.to_owned(), pages.map(<[_]>::to_vec));
        open.spawn(async move {
            get(&address, "/").await?;
            let mut events = Events::open(&address, "/live").await?;
            let Some(pages) = pages else {
                ensure!(events.read(span).await? > 0, "no event within {} s", span.as_secs());
                return Ok(());
            };
            let began = Instant::now();
            let mut turn = number;
            while began.elapsed() < span {
                events.read(CLICK.min(span.saturating_sub(began.elapsed()))).await?;
                get(&address, &pages[turn % pages.len()]).await?;
                turn += 1;
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(ended) = open.join_next().await {
        ended??;
    }
    Ok(())
}
