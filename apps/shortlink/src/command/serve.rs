//! `shortlink serve`.

use super::degraded::degraded;
use super::open::{check_redis, connect, is_unreachable, open};
use crate::config::Config;
use crate::http;
use anyhow::{Context, Result};
use std::time::Duration;
use web::{Outage, Startup, StartupOptions};

/// How long the background tasks may take to stop.
const BACKGROUND_GRACE: Duration = Duration::from_secs(10);

/// Serves until a signal asks the process to stop.
///
/// # Errors
/// A setting is wrong, the address cannot be bound, or a server refuses the connection.
pub(super) async fn serve(config: Config) -> Result<()> {
    let mut startup = Startup::begin(StartupOptions {
        program: "shortlink",
        database: &config.database,
        data: &config.data,
        listen: &config.listen,
        public_url: config.public_url.as_deref(),
        otlp: config.otlp.as_deref(),
    })
    .await?;
    let Some(checked) = startup.unless_stopped(check_redis(&config)).await else { return Ok(()) };
    checked?;
    let address = startup.address().to_string();
    let connect = async || connect(&config).await;
    let open = async |store| open(&config, store, Some(address.clone())).await;
    let fallback = async |outage: Outage<'_>| degraded(&config, outage).await;
    let Some(web::Started { service: opened, listener, settings, stop, file_lock, telemetry }) =
        Box::pin(startup.open(connect, open, is_unreachable, fallback)).await?
    else {
        return Ok(());
    };
    let prefix_record = opened.keep_prefix_record(&config).await?;
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    let service = opened.service.clone();
    // Dropping the sender stops the background tasks.
    let background = tokio::spawn(async move { Box::pin(service.run(async { drop(is_over.await) })).await });
    let served = http::serve(opened.service.clone(), listener, settings, stop).await;
    drop(over);
    if tokio::time::timeout(BACKGROUND_GRACE, background).await.is_err() {
        tracing::warn!("background tasks did not finish in time; other instances or the next start continue them");
    }
    drop(prefix_record);
    served.context("the service ended")?;
    opened.close().await;
    telemetry.close().await;
    drop(file_lock);
    Ok(())
}
