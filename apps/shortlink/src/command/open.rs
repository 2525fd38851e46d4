//! The service as the settings describe it: its database, its cache, its rules.

use crate::config::Config;
use crate::domain::TargetRules;
use crate::service::{Near, Service};
use crate::store::Store;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use std::time::Duration;

/// What is on its way to Redis at the end may take this long.
const KEEL_PATIENCE: Duration = Duration::from_secs(1);

/// A service with what has to be closed after it.
pub(super) struct Opened {
    pub(super) service: Service,
    store: Store,
    keel: Keel,
}

/// Opens database and cache. `address` is where the service listens, if it does: a link to it would be a loop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn open(config: &Config, address: Option<String>) -> Result<Opened> {
    let clock = Clock::system();
    let store = Store::open(&config.database, clock.clone()).await;
    let store = store.with_context(|| format!("cannot open the database {}", config.database))?;
    let keel = open_keel(config, &store).await?;
    // An import follows no link twice.
    let near = address.as_ref().map_or(Near::Off, |_| Near::from(config.near));
    let own: Vec<String> = config.public_url.iter().cloned().chain(address).collect();
    let rules = TargetRules::new(&own, config.refuse_private);
    let service = Service::open(store.clone(), keel.clone(), near, rules, clock).await?;
    Ok(Opened { service, store, keel })
}

impl Opened {
    /// Lets what is under way arrive, and closes all connections.
    pub(super) async fn close(self) {
        self.keel.shutdown(KEEL_PATIENCE).await;
        self.store.close().await;
    }
}

/// Connects to Redis, if there is one. Databases that share a Redis do not meet in it: each has its own prefix.
async fn open_keel(config: &Config, store: &Store) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let mut options = LinkOptions::from_url(url).context("the setting \"redis\" is wrong")?;
    options.prefix = format!("{}-{}", options.prefix, store.name());
    Keel::builder().connect_with(options).await.context("cannot use Redis")
}
