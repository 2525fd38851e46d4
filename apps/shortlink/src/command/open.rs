//! Opens the service from its settings: database, cache, spool and target rules.

use super::prefix_record::PrefixRecord;
use crate::config::{CacheMode, ClickMode, Config, WriteMode};
use crate::domain::TargetRules;
use crate::service::{NearCache, Service, Settings};
use crate::store::{Store, StoreError};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::spool::{Spool, SpoolOptions};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// How long commands in flight to Redis may take at shutdown.
const KEEL_GRACE: Duration = Duration::from_secs(1);

/// The folder of the write-behind spool, in the data folder.
const SPOOL: &str = "writes";

/// Bytes of one segment of the spool. The largest write fits into half of the smallest segment.
const SEGMENT_BYTES: u64 = 4 << 20;

/// A service with the resources that are closed after it.
pub(super) struct Opened {
    pub(super) service: Service,
    pub(super) store: Store,
    pub(super) keel: Keel,
    pub(super) spool: Option<Spool>,
}

/// Checks that Redis accepts this program, if one is configured, so that a wrong password is reported before tables are created in
/// the database. An unreachable Redis is not an error.
///
/// # Errors
/// Redis rejects the connection, or its version is not supported.
pub(super) async fn check_redis(config: &Config) -> Result<()> {
    let Some(url) = &config.redis else { return Ok(()) };
    Link::check(redis_options(url)?).await.context("cannot use Redis")
}

pub(super) fn redis_options(url: &str) -> Result<LinkOptions> {
    LinkOptions::from_url(url).context("the setting \"redis\" is wrong")
}

/// Opens the database.
///
/// # Errors
/// As [`Store::open`].
pub(super) async fn connect(config: &Config) -> Result<Store> {
    let store = Store::open(&config.database, Clock::system()).await;
    store.with_context(|| format!("cannot open the database {}", config.database))
}

/// Opens the cache, the spool and the service. `address` is where the service listens; `None` for an import.
///
/// # Errors
/// Redis rejects the connection, or the spool cannot be opened.
pub(super) async fn open(config: &Config, store: Store, address: Option<String>) -> Result<Opened> {
    let keel = open_keel(config, &store).await?;
    // An import never reads through the near cache, and must have its rows in the database when it reports them.
    let is_serving = address.is_some();
    let near = if is_serving { NearCache::from(config.near) } else { NearCache::Off };
    let spool = if is_serving { open_spool(config).await? } else { None };
    let settings = Settings {
        near,
        is_strong: config.consistency == CacheMode::Strong,
        rules: rules(config, address),
        spool: spool.clone(),
        clicks: is_serving && config.clicks == ClickMode::On,
    };
    let service = Service::open(store.clone(), keel.clone(), settings, Clock::system()).await?;
    Ok(Opened { service, store, keel, spool })
}

/// The rules for targets. An import has those of the service that is started with the same settings.
pub(super) fn rules(config: &Config, address: Option<String>) -> TargetRules {
    let address = address.unwrap_or_else(|| config.listen.clone());
    let own: Vec<String> = config.public_url.iter().cloned().chain([address]).collect();
    TargetRules::new(&own, config.refuse_private)
}

impl Opened {
    /// Keeps the database's key prefix recorded in Redis until the returned handle is dropped; see [`PrefixRecord`].
    ///
    /// # Errors
    /// A URL cannot be parsed.
    pub(super) async fn keep_prefix_record(&self, config: &Config) -> Result<Option<AbortOnDropHandle<()>>> {
        let (Some(link), Some(url)) = (self.keel.link(), &config.redis) else { return Ok(None) };
        let record = PrefixRecord::of(&redis_options(url)?, &config.database)?;
        match record {
            Some(record) => {
                Ok(Some(record.renew_until_dropped(link.clone(), self.store.name(), Clock::system()).await))
            }
            None => Ok(None),
        }
    }

    /// Waits for what is in flight, then closes all connections.
    pub(super) async fn close(self) {
        // The service's background tasks on the database end when it is dropped.
        drop(self.service);
        self.keel.shutdown(KEEL_GRACE).await;
        if let Some(spool) = self.spool {
            // Fails only if the spool is already closed.
            let _ = spool.close().await;
        }
        self.store.close().await;
    }
}

/// The write-behind spool; `None` with `--write-mode through`.
pub(super) async fn open_spool(config: &Config) -> Result<Option<Spool>> {
    if config.write_mode != WriteMode::Behind {
        return Ok(None);
    }
    let segment = SEGMENT_BYTES.min(config.spool_bytes_max / 2);
    let options = SpoolOptions::default().bytes_max(config.spool_bytes_max).segment_bytes(segment);
    let spool = Spool::open(config.data.join(SPOOL), options).await;
    Ok(Some(spool.context("cannot open the write-behind spool")?))
}

/// Connects to Redis, if one is configured. Each database has its own key prefix, so several can share a Redis.
async fn open_keel(config: &Config, store: &Store) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let prefix = PrefixRecord::prefix(&redis_options(url)?.prefix, &store.name());
    tracing::info!(prefix, "key prefix in Redis; pass it to the program evenkeel as ?prefix= of the Redis URL");
    connect_lazily(config, prefix).await
}

/// Connects to Redis, if one is configured. Redirects work without Redis, so the start does not wait for it.
pub(super) async fn connect_lazily(config: &Config, prefix: String) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let mut options = redis_options(url)?;
    options.prefix = prefix;
    Keel::builder().connect_lazy_with(options).await.context("cannot use Redis")
}

/// Whether the service could not be opened only because its database is unreachable.
pub(super) fn is_unreachable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<StoreError>().is_some_and(StoreError::is_unreachable)
}
