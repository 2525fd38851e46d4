//! The service as the settings describe it: its database, its locks, its rules.

use crate::config::Config;
use crate::service::{Rules, Service};
use crate::store::Store;
use crate::strategy::Tools;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::lock::Redlock;
use std::time::Duration;

/// What is on its way to Redis at the end may take this long.
const KEEL_PATIENCE: Duration = Duration::from_secs(1);

/// Models of a server that a Redlock in the process is made of.
const SERVERS: usize = 5;

/// A service with what has to be closed after it.
pub(super) struct Opened {
    pub(super) service: Service,
    store: Store,
    keel: Keel,
    redlock: Option<Redlock>,
}

/// Opens database and locks.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn open(config: &Config) -> Result<Opened> {
    let store = Store::open(&config.database, Clock::system()).await;
    let store = store.with_context(|| format!("cannot open the database {}", config.database))?;
    let keel = match &config.redis {
        None => Keel::memory(),
        Some(url) => Keel::connect(url).await.context("cannot use Redis")?,
    };
    let mut tools = Tools::new(keel.clone(), config.stripes).context("the setting \"stripes\" is wrong")?;
    tools.cap = config.cap;
    tools.segments = i64::from(config.segments);
    tools.redlock = redlock(config).await?;
    let redlock = tools.redlock.clone();
    let rules = Rules { strategy: config.strategy, allow_unfenced: config.allow_unfenced, days: config.days.clone() };
    let service = Service::open(store.clone(), keel.clone(), tools, rules).await?;
    Ok(Opened { service, store, keel, redlock })
}

/// The independent servers that were named; in a process on its own, some models of them.
async fn redlock(config: &Config) -> Result<Option<Redlock>> {
    let urls: Vec<&str> = config.redlock.iter().map(String::as_str).collect();
    match &config.redis {
        _ if !urls.is_empty() => Ok(Some(Redlock::connect(&urls).await.context("cannot use the servers for redlock")?)),
        None => Ok(Some(Redlock::memory(SERVERS)?)),
        Some(_) => Ok(None),
    }
}

impl Opened {
    /// Lets what is under way arrive, and closes all connections.
    pub(super) async fn close(self) {
        self.keel.shutdown(KEEL_PATIENCE).await;
        if let Some(redlock) = self.redlock {
            redlock.shutdown(KEEL_PATIENCE).await;
        }
        self.store.close().await;
    }
}
