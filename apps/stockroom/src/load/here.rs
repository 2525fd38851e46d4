//! [`Here`]: a load in this process, on a file in a temporary folder and embedded stores.

use super::drive::drive;
use super::slice::Load;
use super::{Tally, faults};
use crate::domain::{Days, Strategy};
use crate::service::{Rules, Service};
use crate::store::Store;
use crate::strategy::Tools;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::Redlock;
use tempfile::TempDir;
use web::DatabaseUrl;

/// Locks that products share under `striped`.
const STRIPES: u32 = 16;

/// Stores that a Redlock is made of.
const SERVERS: usize = 5;

/// A stockroom in this process; gone when it is dropped.
pub struct Here {
    service: Service,
    _folder: TempDir,
}

impl Here {
    /// A new one.
    ///
    /// # Errors
    /// No temporary folder can be made, or nothing written in it.
    pub async fn new(cap: i64) -> Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("stockroom-load").tempdir().context("cannot make a temporary folder")?;
        let database = DatabaseUrl::Sqlite(folder.path().join("stock.db"));
        let store = Store::open(&database, Clock::system()).await?;
        let keel = Keel::memory();
        let mut tools = Tools::new(keel.clone(), STRIPES)?;
        tools.cap = cap;
        tools.redlock = Some(Redlock::memory(SERVERS)?);
        tools.terms = faults::TERMS;
        tools.stalls = faults::stalls();
        let service = Service::open(store, keel, tools, demonstration()?).await?;
        Ok(Self { service, _folder: folder })
    }

    /// Closes what is open.
    pub async fn close(self) {
        self.service.close().await;
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) async fn run(
        &self,
        load: &Load,
        strategy: Strategy,
        done: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(Tally, Vec<String>)> {
        let products = products(&self.service, load, strategy, "").await?;
        let mut tally = Tally::new()?;
        drive(&self.service, &load.whole(strategy, products.clone()), true, &mut |ended| {
            tally.add(ended);
            done(1);
        })
        .await?;
        Ok((tally, products))
    }
}

/// What a load is allowed.
pub(super) fn demonstration() -> Result<Rules> {
    let days = Days::of_zone("UTC").context("there is no time zone UTC")?;
    Ok(Rules { strategy: Strategy::ConditionalUpdate, allow_unfenced: true, days })
}

/// Adds the products of one strategy's share. `run` tells them from those of other runs.
pub(super) async fn products(service: &Service, load: &Load, strategy: Strategy, run: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for number in 1..=load.products.max(1) {
        let name = format!("load{run} {strategy} {number}");
        names.push(service.add_product(&name).await?.name);
    }
    Ok(names)
}
