//! Opens the database, Redis and the service according to the settings.

use crate::config::Config;
use crate::service::{Service, ServiceError, ServiceOptions};
use crate::store::{Store, StoreError};
use crate::strategy::StrategyContext;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::lock::Redlock;

/// Number of embedded stores that replace the servers for `redlock`.
const EMBEDDED_STORES: usize = 5;

/// Checks the password and the version of every configured Redis server, before the database is changed. An unreachable server is not
/// an error.
///
/// # Errors
/// A server rejects the connection, or a URL is invalid.
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
/// The database is unreachable or rejects the connection.
pub(super) async fn connect(config: &Config) -> Result<Store> {
    let store = Store::open(&config.database, Clock::system()).await;
    store.with_context(|| format!("cannot open the database {}", config.database))
}

/// Connects to Redis, if configured. Only some strategies need Redis, so the service starts while it is unreachable.
///
/// # Errors
/// Redis rejects the connection.
pub(super) async fn open_keel(config: &Config) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let keel = Keel::connect_lazy(url).await.context("cannot use Redis")?;
    if let Some(link) = keel.link() {
        tracing::info!(
            prefix = link.prefix(),
            "prefix of all keys in Redis; pass it to evenkeel as ?prefix= of the URL"
        );
    }
    Ok(keel)
}

/// Opens the service.
///
/// # Errors
/// A setting is invalid, or a server rejects the connection.
pub(super) async fn open(config: &Config, store: Store, keel: Keel) -> Result<Service> {
    let context = StrategyContext::new(keel.clone(), config.stripes);
    let mut context = context.context("the setting \"stripes\" is wrong")?;
    context.cap = config.cap;
    context.segments = i64::from(config.segments);
    context.redlock = redlock(config).await?;
    let options = ServiceOptions {
        strategy: config.strategy,
        allow_unfenced: config.allow_unfenced,
        calendar: config.calendar.clone(),
        pay_within: Some(config.pay_within),
    };
    Ok(Service::open(store, keel, context, options).await?)
}

/// Whether the service could not be opened because its database is unreachable.
pub(super) fn is_unreachable(error: &anyhow::Error) -> bool {
    let of_service = error.downcast_ref::<ServiceError>().and_then(|error| match error {
        ServiceError::Store(error) => Some(error),
        _ => None,
    });
    error.downcast_ref::<StoreError>().or(of_service).is_some_and(StoreError::is_unreachable)
}

/// The configured servers for `redlock`; without Redis, embedded stores.
async fn redlock(config: &Config) -> Result<Option<Redlock>> {
    let urls: Vec<&str> = config.redlock.iter().map(String::as_str).collect();
    if !urls.is_empty() {
        // Only one strategy needs them, so the service starts while they are unreachable.
        let redlock = Redlock::connect_lazy(&urls).await.context("cannot use the servers for redlock")?;
        return Ok(Some(redlock));
    }
    if config.redis.is_some() {
        return Ok(None);
    }
    Ok(Some(Redlock::memory(EMBEDDED_STORES)?))
}
