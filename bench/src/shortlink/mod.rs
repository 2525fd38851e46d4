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
