//! What the service does that starts while its database is away: redirects that Redis has, and with `--write-mode behind` writes that
//! wait on this machine's disk.

use super::open::{Opened, connect_lazily, open_spool, redis_options, rules};
use super::prefix_record::{Known, Lookup, PrefixRecord};
use crate::config::{CacheMode, Config, WriteMode};
use crate::http;
use crate::service::{Near, Service, Settings};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;
use web::{Fallback, Outage, StatusNote};

/// Writes that were begun when the database is found may take so long to reach the disk.
const WRITES_PATIENCE: Duration = Duration::from_secs(10);

/// Serves what can be served without the database.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn meanwhile(config: &Config, waiting: Outage<'_>) -> Result<Fallback> {
    let lookup = lookup(config).await?;
    let known = match &lookup {
        Some(lookup) => lookup.known().await,
        None => None,
    };
    let keel = match &known {
        Some(known) => connect_lazily(config, known.prefix.clone()).await?,
        None => Keel::memory(),
    };
    let spool = open_spool(config).await?;
    let settings = Settings {
        near: Near::Off,
        is_strong: config.consistency == CacheMode::Strong,
        rules: rules(config, Some(waiting.address.to_string())),
        behind: spool.clone(),
    };
    let service = Service::without_database(keel.clone(), settings, Clock::system()).await?;
    let note = note(config, known.as_ref(), lookup.as_ref());
    warn!(missing = *waiting.cause.borrow(), "{}", note());
    let router = http::without_database(service.clone(), &waiting, note)?;
    let opened = Opened { service: service.clone(), store: service.store().clone(), keel, spool };
    let meanwhile = Fallback::new(router).on_close(async move {
        // One that takes longer is refused by the closed spool.
        let _ = tokio::time::timeout(WRITES_PATIENCE, service.writes_ended()).await;
        drop(service);
        opened.close().await;
    });
    Ok(match lookup {
        Some(lookup) if known.is_none() => meanwhile.until(lookup.until_known()),
        _ => meanwhile,
    })
}

async fn lookup(config: &Config) -> Result<Option<Lookup>> {
    let Some(url) = &config.redis else { return Ok(None) };
    let options = redis_options(url)?;
    let Some(record) = PrefixRecord::of(&options, &config.database)? else { return Ok(None) };
    Ok(Some(Lookup::open(record, options, Clock::system()).await.context("cannot use Redis")?))
}

/// What works all the same, and why not more.
fn note(config: &Config, known: Option<&Known>, lookup: Option<&Lookup>) -> StatusNote {
    let writes = match config.write_mode {
        WriteMode::Through => "",
        WriteMode::Behind => " Writes are accepted, and wait on this machine's disk.",
    };
    if let Some(Known { prefix, as_of }) = known {
        let as_of = as_of.strftime("%Y-%m-%dT%H:%M:%SZ");
        let note = format!("Redirects that Redis has are served, under the prefix {prefix} as of {as_of}.{writes}");
        return Arc::new(move || note.clone());
    }
    let redis = lookup.map(Lookup::state);
    Arc::new(move || {
        let why = match redis.as_ref().map(|state| state.borrow().is_up()) {
            None => "There is no Redis",
            Some(true) => "Redis has no note of this database's prefix",
            Some(false) => "Redis is away, too",
        };
        format!("{why}: no redirects are served.{writes}")
    })
}
