//! `shortlink serve`.

use super::away::meanwhile;
use super::open::{check_redis, connect, is_away, open};
use crate::config::Config;
use crate::http;
use anyhow::{Context, Result};
use std::time::Duration;
use web::{Outage, Startup, StartupOptions};

/// How long what is under way in the background may take once the service is asked to stop.
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(10);

/// Serves until a signal asks to stop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn serve(config: Config) -> Result<()> {
    let opening = Startup::begin(StartupOptions {
        program: "shortlink",
        database: &config.database,
        data: &config.data,
        listen: &config.listen,
        public_url: config.public_url.as_deref(),
    })
    .await?;
    check_redis(&config).await?;
    let address = opening.address().to_string();
    let connect = async || connect(&config).await;
    let open = async |store| open(&config, store, Some(address.clone())).await;
    let meanwhile = async |waiting: Outage<'_>| meanwhile(&config, waiting).await;
    let Some(web::Started { service: opened, listener, settings, stop, file_lock: hold }) =
        Box::pin(opening.open(connect, open, is_away, meanwhile)).await?
    else {
        return Ok(());
    };
    let prefix_record = opened.keep_prefix_record(&config).await?;
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    let service = opened.service.clone();
    // Told or dropped: both mean the end.
    let background = tokio::spawn(async move { service.run(async { drop(is_over.await) }).await });
    let served = http::serve(opened.service.clone(), listener, settings, stop).await;
    drop(over);
    if tokio::time::timeout(BACKGROUND_PATIENCE, background).await.is_err() {
        tracing::warn!("what was to be done in the background is left to other instances, or to the next start");
    }
    drop(prefix_record);
    served.context("the service ended")?;
    opened.close().await;
    drop(hold);
    Ok(())
}
