//! `stockroom serve`.

use super::open::{check_redis, connect, is_away, open, open_keel};
use crate::config::Config;
use crate::http;
use crate::service::redis_state;
use anyhow::{Context, Result};
use std::sync::Arc;
use web::{Begin, Meanwhile, Opening, Waiting};

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
    let connect = async || connect(&config).await;
    let keel = open_keel(&config).await?;
    let open = async |store| open(&config, store, keel.clone()).await;
    // Every use case needs the database, so there is nothing to serve without it.
    let refuse = async |waiting: Waiting<'_>| {
        let keel = keel.clone();
        let note = Arc::new(move || format!("Redis: {}.", redis_state(&keel)));
        Ok(Meanwhile::answers(http::starting(&waiting, note)?))
    };
    let opened = Box::pin(opening.open(connect, open, is_away, refuse)).await?;
    let Some(opened) = opened else { return Ok(()) };
    let served = http::serve(opened.service.clone(), opened.listener, opened.settings, opened.stop).await;
    served.context("the service ended")?;
    opened.service.close().await;
    drop(opened.hold);
    Ok(())
}
