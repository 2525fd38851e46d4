//! The service as the settings describe it: its database, its locks, its rules.

use crate::config::Config;
use crate::service::{Rules, Service, ServiceError};
use crate::store::{Store, StoreError};
use crate::strategy::Tools;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::lock::Redlock;

/// Models of a server that a Redlock in the process is made of.
const SERVERS: usize = 5;

/// Asks every Redis that is named whether it lets this program in: a wrong password or a server that cannot work is told before
/// anything is made in the database. A Redis that is away is no error.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn check_redis(config: &Config) -> Result<()> {
    if let Some(url) = &config.redis {
        let options = LinkOptions::from_url(url).context("the setting \"redis\" is wrong")?;
        Link::check(options).await.context("cannot use Redis")?;
    }
    for url in &config.redlock {
        let options = LinkOptions::from_url(url).context("the setting \"redlock\" is wrong")?;
        Link::check(options).await.context("cannot use the servers for redlock")?;
    }
    Ok(())
}

/// Opens the database.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn connect(config: &Config) -> Result<Store> {
    let store = Store::open(&config.database, Clock::system()).await;
    store.with_context(|| format!("cannot open the database {}", config.database))
}

/// Connects to Redis, if there is one. Only some strategies need it, so its absence keeps nobody from starting.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn open_keel(config: &Config) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let keel = Keel::connect_lazy(url).await.context("cannot use Redis")?;
    if let Some(link) = keel.link() {
        let prefix = link.prefix();
        tracing::info!(prefix, "all keys in Redis begin with this; evenkeel takes it as ?prefix= of the address");
    }
    Ok(keel)
}

/// Opens the locks and the rest.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn open(config: &Config, store: Store, keel: Keel) -> Result<Service> {
    let mut tools = Tools::new(keel.clone(), config.stripes).context("the setting \"stripes\" is wrong")?;
    tools.cap = config.cap;
    tools.segments = i64::from(config.segments);
    tools.redlock = redlock(config).await?;
    let rules = Rules { strategy: config.strategy, allow_unfenced: config.allow_unfenced, days: config.days.clone() };
    Ok(Service::open(store, keel, tools, rules).await?)
}

/// Whether the service could not be opened only because its database is away.
pub(super) fn is_away(error: &anyhow::Error) -> bool {
    let of_service = error.downcast_ref::<ServiceError>().and_then(|error| match error {
        ServiceError::Store(error) => Some(error),
        _ => None,
    });
    error.downcast_ref::<StoreError>().or(of_service).is_some_and(StoreError::is_away)
}

/// The independent servers that were named; in a process on its own, some models of them.
async fn redlock(config: &Config) -> Result<Option<Redlock>> {
    let urls: Vec<&str> = config.redlock.iter().map(String::as_str).collect();
    match &config.redis {
        // Only one strategy needs them, so their absence keeps nobody from starting.
        _ if !urls.is_empty() => {
            Ok(Some(Redlock::connect_lazy(&urls).await.context("cannot use the servers for redlock")?))
        }
        None => Ok(Some(Redlock::memory(SERVERS)?)),
        Some(_) => Ok(None),
    }
}
