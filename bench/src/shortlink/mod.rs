//! The short-link service, tier by tier, against the same HTTP server answering a constant redirect.
//!
//! The HTTP server under test runs on one core, the load generator on the other; what stands behind the service (Redis,
//! MariaDB) shares the generator's core.

mod cited;
pub(crate) mod constant;
mod creations;
mod imports;
mod program;
mod redirects;

use crate::results::Keeper;
use crate::rounds::Plan;
use anyhow::Result;
use program::Behind;

const BENCH: &str = "shortlink";

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(all(plan, keeper))
}

async fn all(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    if plan.asks_for("tiers") {
        tiers(plan, keeper).await?;
    }
    if plan.asks_for("clicks") {
        clicks(plan, keeper).await?;
    }
    Ok(())
}

/// What the clicks cost: one service counts them, the other one does not.
async fn clicks(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    let servers = Behind::servers().await?;
    let (codes, other) = (creations::fill(&servers)?, servers.another());
    for (tier, near) in [("near cache before Redis", "100000"), ("Redis", "0")] {
        let (on, off) = (servers.serve_with_clicks("on", near)?, other.serve_with_clicks("off", near)?);
        keeper.keep(redirects::clicks(plan, tier, on, off, &codes).await?)?;
    }
    Ok(())
}

async fn tiers(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    let (embedded, servers) = (Behind::nothing(), Behind::servers().await?);
    let codes = creations::fill(&embedded)?;
    keeper.keep(redirects::hits(plan, "embedded store", embedded.serve()?, &codes).await?)?;
    keeper.keep([redirects::misses(&plan.shortened(), "SQLite", &embedded, &codes).await?])?;
    let codes = creations::fill(&servers)?;
    keeper.keep(redirects::hits(plan, "near cache before Redis", servers.serve_near()?, &codes).await?)?;
    keeper.keep(redirects::hits(plan, "Redis", servers.serve()?, &codes).await?)?;
    keeper.keep([redirects::misses(&plan.shortened(), "MariaDB", &servers, &codes).await?])?;
    keeper.keep(cited::run(plan)?)?;
    keeper.keep([creations::run(plan, "SQLite, embedded store", &embedded)?])?;
    keeper.keep([creations::run(plan, "MariaDB, Redis", &servers)?])?;
    keeper.keep([imports::run(plan)?])
}
