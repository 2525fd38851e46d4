//! `stockroom serve`.

use super::open::{check_redis, is_away, open};
use crate::config::Config;
use crate::http;
use anyhow::{Context, Result};
use web::{Begin, Opening};

/// Serves until a signal asks to stop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn serve(config: Config) -> Result<()> {
    let opening = Opening::begin(Begin {
        program: "stockroom",
        database: &config.database,
        data: &config.data,
        listen: &config.listen,
        public_url: config.public_url.as_deref(),
    })
    .await?;
    check_redis(&config).await?;
    let opened = Box::pin(opening.open(async || open(&config).await, is_away, http::starting)).await?;
    let Some(opened) = opened else { return Ok(()) };
    let served = http::serve(opened.service.clone(), opened.listener, opened.settings, opened.stop).await;
    served.context("the service ended")?;
    opened.service.close().await;
    drop(opened.hold);
    Ok(())
}
