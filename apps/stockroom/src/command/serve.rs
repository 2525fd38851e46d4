//! `stockroom serve`.

use super::open::{check_redis, connect, is_unreachable, open, open_keel};
use crate::config::Config;
use crate::http;
use crate::service::redis_state;
use anyhow::{Context, Result};
use std::sync::Arc;
use web::{Fallback, Outage, Startup, StartupOptions};

/// Serves until a shutdown is requested.
///
/// # Errors
/// The service cannot start.
pub(super) async fn serve(config: Config) -> Result<()> {
    let startup = Startup::begin(StartupOptions {
        program: "stockroom",
        database: &config.database,
        data: &config.data,
        listen: &config.listen,
        public_url: config.public_url.as_deref(),
        otlp: config.otlp.as_deref(),
    })
    .await?;
    check_redis(&config).await?;
    let connect = async || connect(&config).await;
    let keel = open_keel(&config).await?;
    let open = async |store| open(&config, store, keel.clone()).await;
    // Every use case needs the database, so the fallback only reports the outage.
    let fallback = async |outage: Outage<'_>| {
        let keel = keel.clone();
        let note = Arc::new(move || format!("Redis: {}.", redis_state(&keel)));
        Ok(Fallback::new(http::unavailable(&outage, note)?))
    };
    let started = Box::pin(startup.open(connect, open, is_unreachable, fallback)).await?;
    let Some(started) = started else { return Ok(()) };
    let served = http::serve(started.service.clone(), started.listener, started.settings, started.stop).await;
    served.context("the service failed")?;
    started.service.close().await;
    started.telemetry.close().await;
    drop(started.file_lock);
    Ok(())
}
