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

use crate::rounds::Plan;
use crate::row::Row;
use anyhow::Result;
use program::Behind;

const BENCH: &str = "shortlink";

pub(crate) fn run(plan: &Plan) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(all(plan))
}

async fn all(plan: &Plan) -> Result<Vec<Row>> {
    let (embedded, servers) = (Behind::nothing(), Behind::servers().await?);
    let mut rows = Vec::new();
    let codes = creations::fill(&embedded)?;
    rows.extend(redirects::hits(plan, "embedded store", embedded.serve()?, &codes).await?);
    rows.push(redirects::misses(plan, "SQLite", &embedded, &codes).await?);
    let codes = creations::fill(&servers)?;
    rows.extend(redirects::hits(plan, "Redis", servers.serve()?, &codes).await?);
    rows.extend(redirects::hits(plan, "near cache before Redis", servers.serve_near()?, &codes).await?);
    rows.push(redirects::misses(plan, "MariaDB", &servers, &codes).await?);
    rows.extend(cited::run(plan)?);
    rows.push(creations::run(plan, "SQLite, embedded store", &embedded)?);
    rows.push(creations::run(plan, "MariaDB, Redis", &servers)?);
    rows.push(imports::run(plan)?);
    Ok(rows)
}
