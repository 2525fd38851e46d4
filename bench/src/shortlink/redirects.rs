//! Redirects by tier.

use super::BENCH;
use super::program::Behind;
use crate::generator::{Found, Pace, Task, Work, generate};
use crate::program::Program;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::Result;
use std::future::ready;
use std::time::Duration;

const PEER: &str = "a constant redirect";

/// Latency is measured at this part of the rate the service reaches: a queue that only grows has no percentile.
const LOAD: f64 = 0.5;

/// Rate and tail of redirects that the cache serves.
pub(crate) async fn hits(plan: &Plan, tier: &str, service: Program, codes: &[String]) -> Result<Vec<Row>> {
    let constant = Program::constant()?;
    // The first visit loads a link, the second one fills the near cache.
    once(&service, codes)?;
    once(&service, codes)?;
    let closed = |program: &Program, span: Duration| {
        let ms = millis(span);
        Ok(redirects(program, codes, Pace::Closed { ms })?.rate())
    };
    let rate = compare(plan, |span| ready(closed(&service, span)), |span| ready(closed(&constant, span))).await?;
    let per_second = rate.ours * LOAD;
    let open = |program: &Program, span: Duration| {
        let ms = millis(span);
        Ok(redirects(program, codes, Pace::Open { ms, per_second })?.p99_us as f64 / 1_000.0)
    };
    let tail = compare(plan, |span| ready(open(&service, span)), |span| ready(open(&constant, span))).await?;
    Ok(vec![
        Row::compared(BENCH, format!("redirects from the {tier}"), "redirects/s", PEER, rate),
        Row::compared(BENCH, format!("p99 of redirects from the {tier} at {per_second:.0}/s"), "ms", PEER, tail),
    ])
}

/// The counts of clicks are appended and folded up to about two seconds after their redirects.
const BEHIND: Duration = Duration::from_secs(3);

/// Tail and rate of redirects with clicks, against the same service without them, in one run on the same servers. Each measurement begins when the
/// clicks of the one before are counted, and after some redirects of its own, whose clicks are then counted during it.
pub(crate) async fn clicks(plan: &Plan, tier: &str, on: Program, off: Program, codes: &[String]) -> Result<Vec<Row>> {
    const OFF: &str = "--clicks off";
    for program in [&on, &off, &on, &off] {
        once(program, codes)?;
    }
    let measured = |program: &Program, pace: &dyn Fn(Duration) -> Pace, span: Duration| {
        std::thread::sleep(BEHIND);
        redirects(program, codes, pace(BEHIND))?;
        redirects(program, codes, pace(span))
    };
    let closed = |program: &Program, span: Duration| {
        Ok(measured(program, &|span| Pace::Closed { ms: millis(span) }, span)?.rate())
    };
    let rate = compare(plan, |span| ready(closed(&on, span)), |span| ready(closed(&off, span))).await?;
    let per_second = rate.ours * LOAD;
    let open = |program: &Program, span: Duration| {
        let pace = |span| Pace::Open { ms: millis(span), per_second };
        Ok(measured(program, &pace, span)?.p99_us as f64 / 1_000.0)
    };
    let tail = compare(plan, |span| ready(open(&on, span)), |span| ready(open(&off, span))).await?;
    let row = format!("p99 of redirects from the {tier} at {per_second:.0}/s, with clicks");
    Ok(vec![
        Row::compared(BENCH, format!("redirects from the {tier}, with clicks"), "redirects/s", OFF, rate),
        Row::compared(BENCH, row, "ms", OFF, tail),
    ])
}

/// The rate of redirects after the service was started with an empty cache, each of a link that was not requested before: each loads its row.
pub(crate) async fn misses(plan: &Plan, database: &str, behind: &Behind, codes: &[String]) -> Result<Row> {
    let constant = Program::constant()?;
    let fresh = || {
        behind.empty()?;
        Ok(once(&behind.serve()?, codes)?.rate())
    };
    let peer = || Ok(once(&constant, codes)?.rate());
    let found = compare(plan, |_| ready(fresh()), |_| ready(peer())).await?;
    Ok(Row::compared(
        BENCH,
        format!("redirects from {database}, each code for the first time"),
        "redirects/s",
        PEER,
        found,
    ))
}

pub(crate) fn once(program: &Program, codes: &[String]) -> Result<Found> {
    redirects(program, codes, Pace::Once)
}

pub(crate) fn redirects(program: &Program, codes: &[String], pace: Pace) -> Result<Found> {
    generate(&Task { address: program.address.clone(), work: Work::Redirects(codes.to_vec()), pace })
}

pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
