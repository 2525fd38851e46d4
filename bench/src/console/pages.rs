//! The time of each page and of each read of the API, from the connection to the last byte.

use super::http::get;
use super::{BENCH, Size, TOPIC};
use crate::rounds::{Compared, Plan, median};
use crate::row::Row;
use anyhow::{Context, Result};

/// The limits of a page and of a search, in ms.
const PAGE_MS: f64 = 200.0;
const SEARCH_MS: f64 = 2_000.0;
const REQUESTS: usize = 20;
const SEARCHES: usize = 5;
/// Digits of a job's id.
const ID: usize = 32;

pub(super) async fn run(plan: &Plan, address: &str, size: Size) -> Result<Vec<Row>> {
    let requests = if plan.quick { REQUESTS / 4 } else { REQUESTS };
    let api = format!("/api/v1/sources/default/topics/{TOPIC}");
    let queue = format!("/queues/{TOPIC}");
    let waiting = first_job(address, &format!("{queue}/jobs")).await?;
    let dead = first_job(address, &format!("{queue}/jobs?state=dead")).await?;
    let older = second_page(address, &format!("{queue}/jobs?state=dead")).await?;
    let due = format!("{queue}/jobs?state=waiting&before=9999999999999:{}", "f".repeat(ID));
    let pages = [
        ("overview", "/".to_owned()),
        ("a queue", queue.clone()),
        ("waiting jobs", format!("{queue}/jobs")),
        ("waiting jobs from a cursor on", due),
        ("running jobs", format!("{queue}/jobs?state=running")),
        ("dead letters, page by page", format!("{queue}/jobs?state=dead")),
        ("dead letters, second page", older),
        ("dead letters by error (reads 2,000)", format!("{queue}/dead")),
        ("dead letters by error (on request 10,000)", format!("{queue}/dead?limit=10000")),
        ("a waiting job", format!("{queue}/jobs/{waiting}")),
        ("a dead job", format!("{queue}/jobs/{dead}")),
        ("a job found by its id", format!("{queue}/jobs?q={waiting}")),
        ("streams", "/streams".to_owned()),
        ("a stream", "/streams/orders".to_owned()),
        ("an entry of a cache", "/caches?cache=user&key=42".to_owned()),
        ("a lock", "/locks?q=stock".to_owned()),
        ("operations", "/operations".to_owned()),
        ("link", "/link".to_owned()),
        ("audit log", "/log".to_owned()),
        ("API: topics", "/api/v1/sources/default/topics".to_owned()),
        ("API: waiting jobs", format!("{api}/jobs?state=waiting&limit=100")),
        ("API: dead letters by error (reads 10,000)", format!("{api}/dead")),
        ("API: a dead job", format!("{api}/jobs/{dead}")),
        ("metrics", "/metrics".to_owned()),
    ];
    let mut rows = Vec::new();
    for (name, path) in pages {
        rows.push(measure(address, size, (name, &path), requests, (PAGE_MS, "the limit of a page, ms")).await?);
    }
    let search = format!("{queue}/jobs?state=dead&q=no+such+text");
    let searches = requests.min(SEARCHES);
    rows.push(
        measure(address, size, ("search for a text", &search), searches, (SEARCH_MS, "the limit of a search, ms"))
            .await?,
    );
    let scan = times(address, "/locks?scan=1", searches).await?;
    rows.push(Row::alone(BENCH, title("all keys scanned for held locks", size, searches), "ms", longest(&scan), None));
    Ok(rows)
}

fn title(name: &str, size: Size, requests: usize) -> String {
    format!("{name}, {} jobs, {} dead letters: longest of {requests}", size.jobs, size.dead)
}

async fn measure(
    address: &str,
    size: Size,
    (name, path): (&str, &str),
    requests: usize,
    (limit, limit_name): (f64, &'static str),
) -> Result<Row> {
    let times = times(address, path, requests).await?;
    let (ours, shortest) = (longest(&times), times.iter().copied().fold(f64::MAX, f64::min));
    let spread = (ours - shortest) / median(times);
    let found = Compared { ours, peer: limit, ratio: ours / limit, spread };
    Ok(Row::compared(BENCH, title(name, size, requests), "ms", limit_name, found))
}

/// In ms.
async fn times(address: &str, path: &str, requests: usize) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(requests);
    for _ in 0..requests {
        times.push(get(address, path).await?.1.as_secs_f64() * 1e3);
    }
    Ok(times)
}

fn longest(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

/// The first job that a list links to.
async fn first_job(address: &str, list: &str) -> Result<String> {
    let (page, _) = get(address, list).await?;
    let link = format!("/queues/{TOPIC}/jobs/");
    let id = page.split(&link).nth(1).and_then(|rest| rest.get(..ID));
    id.map(str::to_owned).with_context(|| format!("{list} has no job"))
}

/// The address of the page that follows.
async fn second_page(address: &str, list: &str) -> Result<String> {
    let (page, _) = get(address, list).await?;
    let link = page.split("class=\"pages\"").nth(1).and_then(|rest| rest.split("href=\"").nth(1));
    let link = link.and_then(|rest| rest.split('"').next()).with_context(|| format!("{list} has one page only"))?;
    Ok(link.replace("&amp;", "&"))
}
