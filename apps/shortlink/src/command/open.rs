//! The service as the settings describe it: its database, its cache, its rules.

use super::prefix_record::PrefixRecord;
use crate::config::{CacheMode, Config, WriteMode};
use crate::domain::TargetRules;
use crate::service::{Near, Service, Settings};
use crate::store::{Store, StoreError};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::spool::{Spool, SpoolOptions};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// What is on its way to Redis at the end may take this long.
const KEEL_PATIENCE: Duration = Duration::from_secs(1);

/// The folder in the data folder for writes that wait for the database.
const SPOOL: &str = "writes";

/// Bytes of one file of the spool. The longest write has less than the half of the smallest.
const SEGMENT_BYTES: u64 = 4 << 20;

/// A service with what has to be closed after it.
pub(super) struct Opened {
    pub(super) service: Service,
    pub(super) store: Store,
    pub(super) keel: Keel,
    pub(super) spool: Option<Spool>,
}

/// Asks Redis, if there is one, whether it lets this program in: a wrong password or a server that cannot work is told before anything
/// is made in the database. A Redis that is away is no error.
///
/// # Errors
/// One sentence on what is in the way.
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
/// One sentence on what is in the way.
pub(super) async fn connect(config: &Config) -> Result<Store> {
    let store = Store::open(&config.database, Clock::system()).await;
    store.with_context(|| format!("cannot open the database {}", config.database))
}

/// Opens the cache and the rest. `address` is where the service listens, if it does: a link to it would be a loop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn open(config: &Config, store: Store, address: Option<String>) -> Result<Opened> {
    let keel = open_keel(config, &store).await?;
    // An import follows no link twice, and its writes are in the database when it tells of them.
    let is_serving = address.is_some();
    let near = if is_serving { Near::from(config.near) } else { Near::Off };
    let spool = if is_serving { open_spool(config).await? } else { None };
    let settings = Settings {
        near,
        is_strong: config.consistency == CacheMode::Strong,
        rules: rules(config, address),
        behind: spool.clone(),
    };
    let service = Service::open(store.clone(), keel.clone(), settings, Clock::system()).await?;
    Ok(Opened { service, store, keel, spool })
}

/// What a target must be.
pub(super) fn rules(config: &Config, address: Option<String>) -> TargetRules {
    let own: Vec<String> = config.public_url.iter().cloned().chain(address).collect();
    TargetRules::new(&own, config.refuse_private)
}

impl Opened {
    /// Notes in Redis, now and then until this is dropped, under which prefix the keys of the database are; see [`PrefixRecord`].
    ///
    /// # Errors
    /// An address cannot be read.
    pub(super) async fn keep_prefix_record(&self, config: &Config) -> Result<Option<AbortOnDropHandle<()>>> {
        let (Some(link), Some(url)) = (self.keel.link(), &config.redis) else { return Ok(None) };
        let record = PrefixRecord::of(&redis_options(url)?, &config.database)?;
        match record {
            Some(record) => Ok(Some(record.keep(link.clone(), self.store.name(), Clock::system()).await)),
            None => Ok(None),
        }
    }

    /// Lets what is under way arrive, and closes all connections.
    pub(super) async fn close(self) {
        // Its loops on the database end with it.
        drop(self.service);
        self.keel.shutdown(KEEL_PATIENCE).await;
        if let Some(spool) = self.spool {
            // It can only have been closed before.
            let _ = spool.close().await;
        }
        self.store.close().await;
    }
}

/// Where writes wait for the database, if they shall.
pub(super) async fn open_spool(config: &Config) -> Result<Option<Spool>> {
    if config.write_mode != WriteMode::Behind {
        return Ok(None);
    }
    let segment = SEGMENT_BYTES.min(config.spool_bytes_max / 2);
    let options = SpoolOptions::default().bytes_max(config.spool_bytes_max).segment_bytes(segment);
    let spool = Spool::open(config.data.join(SPOOL), options).await;
    Ok(Some(spool.context("cannot keep writes that wait for the database")?))
}

/// Connects to Redis, if there is one. Databases that share a Redis do not meet in it: each has its own prefix.
async fn open_keel(config: &Config, store: &Store) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let prefix = PrefixRecord::prefix(&redis_options(url)?.prefix, &store.name());
    tracing::info!(prefix, "all keys in Redis begin with this; evenkeel takes it as ?prefix= of the address");
    connect_lazily(config, prefix).await
}

/// Connects to Redis, if there is one. Redirects do not need it, so its absence keeps nobody from starting.
pub(super) async fn connect_lazily(config: &Config, prefix: String) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let mut options = redis_options(url)?;
    options.prefix = prefix;
    Keel::builder().connect_lazy_with(options).await.context("cannot use Redis")
}

/// Whether the service could not be opened only because its database is away.
pub(super) fn is_away(error: &anyhow::Error) -> bool {
    error.downcast_ref::<StoreError>().is_some_and(StoreError::is_away)
}
