//! [`InProcess`]: a load in this process, on a temporary SQLite file and embedded stores.

use super::run::run;
use super::share::Load;
use super::{Tally, faults};
use crate::domain::{Calendar, Strategy};
use crate::service::{Service, ServiceOptions};
use crate::store::Store;
use crate::strategy::StrategyContext;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::Redlock;
use tempfile::TempDir;
use web::DatabaseUrl;

/// Locks that products share under `striped`.
const STRIPES: u32 = 16;

/// Embedded stores of the Redlock.
const SERVERS: usize = 5;

/// A stockroom in this process; its files are deleted on drop.
pub struct InProcess {
    service: Service,
    _folder: TempDir,
}

impl InProcess {
    /// Opens a new stockroom.
    ///
    /// # Errors
    /// The temporary folder or the file cannot be created.
    pub async fn new(cap: i64) -> Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("stockroom-load").tempdir().context("cannot create a temporary folder")?;
        let database = DatabaseUrl::Sqlite(folder.path().join("stock.db"));
        let store = Store::open(&database, Clock::system()).await?;
        let keel = Keel::memory();
        let mut context = StrategyContext::new(keel.clone(), STRIPES)?;
        context.cap = cap;
        context.redlock = Some(Redlock::memory(SERVERS)?);
        context.lock_terms = faults::lock_terms();
        context.pauses = faults::pauses();
        let service = Service::open(store, keel, context, options()?).await?;
        Ok(Self { service, _folder: folder })
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) async fn run(
        &self,
        load: &Load,
        strategy: Strategy,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(Tally, Vec<String>)> {
        let products = products(&self.service, load, strategy, "").await?;
        let mut tally = Tally::new()?;
        run(&self.service, &load.whole(strategy, products.clone()), true, &mut |ended| {
            tally.add(ended);
            progress(1);
        })
        .await?;
        Ok((tally, products))
    }
}

/// The options of the service under load.
pub(super) fn options() -> Result<ServiceOptions> {
    let calendar = Calendar::in_zone("UTC").context("the time zone UTC does not exist")?;
    Ok(ServiceOptions { strategy: Strategy::ConditionalUpdate, allow_unfenced: true, calendar, pay_within: None })
}

/// Adds the products of one strategy; `run` distinguishes them from those of other runs.
pub(super) async fn products(service: &Service, load: &Load, strategy: Strategy, run: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for number in 1..=load.products.max(1) {
        let name = format!("load{run} {strategy} {number}");
        names.push(service.add_product(&name).await?.name);
    }
    Ok(names)
}
