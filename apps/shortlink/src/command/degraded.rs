//! Degraded service while the database is unreachable at the start: redirects cached in Redis and, with `--write-mode behind`,
//! writes to the spool.

use super::open::{Opened, connect_lazily, open_spool, redis_options, rules};
use super::prefix_record::{KnownPrefix, Lookup, PrefixRecord};
use crate::config::{CacheMode, ClickMode, Config, WriteMode};
use crate::http;
use crate::service::{NearCache, Service, Settings};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::Link;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;
use web::{Fallback, Outage, StatusNote};

/// How long writes in progress may take to reach the disk once the database is found.
const WRITES_GRACE: Duration = Duration::from_secs(10);

/// How long the append of buffered clicks may take then.
const CLICKS_GRACE: Duration = Duration::from_secs(2);

/// The service without its database.
///
/// # Errors
/// Redis refuses, or the spool cannot be opened.
pub(super) async fn degraded(config: &Config, outage: Outage<'_>) -> Result<Fallback> {
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
        near: NearCache::Off,
        is_strong: config.consistency == CacheMode::Strong,
        rules: rules(config, Some(outage.address.to_string())),
        spool: spool.clone(),
        // Without the prefix the stream is not known, and no cached redirect is served.
        clicks: known.is_some() && config.clicks == ClickMode::On,
    };
    let redis = keel.link().map(Link::state).or_else(|| lookup.as_ref().map(Lookup::state));
    let service = Service::without_database(&keel, redis, settings, Clock::system()).await?;
    let note = note(config, known.as_ref(), lookup.as_ref());
    warn!(missing = *outage.cause.borrow(), "{}", note());
    let router = http::without_database(service.clone(), &outage, note)?;
    let opened = Opened { service: service.clone(), store: service.store().clone(), keel, spool };
    let fallback = Fallback::new(router).on_close(async move {
        // A write that takes longer is refused by the closed spool.
        let _ = tokio::time::timeout(WRITES_GRACE, service.writes_ended()).await;
        let _ = tokio::time::timeout(CLICKS_GRACE, service.clicks_appended()).await;
        drop(service);
        opened.close().await;
    });
    Ok(match lookup {
        Some(lookup) if known.is_none() => fallback.until(lookup.until_known()),
        _ => fallback,
    })
}

async fn lookup(config: &Config) -> Result<Option<Lookup>> {
    let Some(url) = &config.redis else { return Ok(None) };
    let options = redis_options(url)?;
    let Some(record) = PrefixRecord::of(&options, &config.database)? else { return Ok(None) };
    Ok(Some(Lookup::open(record, options, Clock::system()).await.context("cannot use Redis")?))
}

/// Which requests are served without the database, and why not more, for `/readyz`, the log and every refusal.
fn note(config: &Config, known: Option<&KnownPrefix>, lookup: Option<&Lookup>) -> StatusNote {
    let writes = match config.write_mode {
        WriteMode::Through => "",
        WriteMode::Behind => " Writes are accepted and stored on this instance's disk.",
    };
    if let Some(KnownPrefix { prefix, as_of }) = known {
        let as_of = as_of.strftime("%Y-%m-%dT%H:%M:%SZ");
        let note = format!("Redirects cached in Redis are served (prefix {prefix}, as of {as_of}).{writes}");
        return Arc::new(move || note.clone());
    }
    let redis = lookup.map(Lookup::state);
    Arc::new(move || {
        let why = match redis.as_ref().map(|state| state.borrow().is_up()) {
            None => "No Redis is configured",
            Some(true) => "Redis has no record of this database's key prefix",
            Some(false) => "Redis is unreachable, too",
        };
        format!("{why}, so no redirects are served.{writes}")
    })
}
