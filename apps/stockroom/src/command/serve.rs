//! `stockroom serve`.

use super::open::{check_redis, connect, is_unreachable, open, open_keel};
use crate::config::Config;
use crate::http;
use crate::service::redis_state;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::Duration;
use web::{Fallback, Outage, Startup, StartupOptions};

/// How long the background tasks may take to stop.
const BACKGROUND_GRACE: Duration = Duration::from_secs(10);

/// Serves until a shutdown is requested.
///
/// # Errors
/// The service cannot start.
pub(super) async fn serve(config: Config) -> Result<()> {
    let mut startup = Startup::begin(StartupOptions {
        program: "stockroom",
        database: &config.database,
        data: &config.data,
        listen: &config.listen,
        public_url: config.public_url.as_deref(),
        otlp: config.otlp.as_deref(),
    })
    .await?;
    let Some(checked) = startup.unless_stopped(check_redis(&config)).await else { return Ok(()) };
    checked?;
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
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    let service = started.service.clone();
    // Dropping the sender stops the background tasks.
    let background = tokio::spawn(async move { Box::pin(service.run(async { drop(is_over.await) })).await });
    let served = http::serve(started.service.clone(), started.listener, started.settings, started.stop).await;
    drop(over);
    if tokio::time::timeout(BACKGROUND_GRACE, background).await.is_err() {
        tracing::warn!("background tasks did not finish in time; other instances or the next start continue them");
    }
    served.context("the service failed")?;
    started.service.close().await;
    started.telemetry.close().await;
    drop(started.file_lock);
    Ok(())
}
