//! Links made over HTTP, one request each.

use super::BENCH;
use super::program::Behind;
use super::redirects::millis;
use crate::generator::{Found, Pace, Task, Work, generate};
use crate::rounds::{Plan, repeat};
use crate::row::Row;
use anyhow::{Result, ensure};
use std::time::Duration;

/// Links that redirects are measured over.
const LINKS_MIN: usize = 10_000;
const SPAN: Duration = Duration::from_secs(2);

/// Links made per second.
pub(crate) fn run(plan: &Plan, name: &str, behind: &Behind) -> Result<Row> {
    let service = behind.serve()?;
    let (middle, spread) = repeat(plan, |span| Ok(create(&service.address, span)?.rate()))?;
    Ok(Row::alone(BENCH, format!("links created, {name}"), "links/s", middle, Some(spread)))
}

/// Makes links and returns their codes.
pub(crate) fn fill(behind: &Behind) -> Result<Vec<String>> {
    let service = behind.serve()?;
    let mut codes = Vec::new();
    while codes.len() < LINKS_MIN {
        let made = create(&service.address, SPAN)?.codes;
        ensure!(!made.is_empty(), "no link could be made");
        codes.extend(made);
    }
    codes.truncate(LINKS_MIN);
    Ok(codes)
}

fn create(address: &str, span: Duration) -> Result<Found> {
    let work = Work::Creations { salt: rand::random() };
    generate(&Task { address: address.to_owned(), work, pace: Pace::Closed { ms: millis(span) } })
}
