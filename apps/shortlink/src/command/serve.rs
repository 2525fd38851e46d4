//! `shortlink serve`.

use super::open::open;
use crate::config::Config;
use crate::http;
use anyhow::{Context, Result};
use std::time::Duration;
use tokio::net::TcpListener;
use web::Hold;
use web::program::{announce, log_to_stderr};

/// How long what is under way in the background may take once the service is asked to stop.
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(10);

/// Serves until a signal asks to stop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn serve(config: Config) -> Result<()> {
    log_to_stderr();
    let mut hold = Hold::take(&config.database, "shortlink", "serve it", |address| format!("it answers at {address}"))?;
    let listener =
        TcpListener::bind(&config.listen).await.with_context(|| format!("cannot listen on {}", config.listen))?;
    let address = listener.local_addr().context("cannot tell the port")?;
    let prometheus = web::install_metrics().context("cannot install the metrics recorder")?;
    let opened = open(&config, Some(address.to_string())).await?;

    let url = format!("http://{address}");
    if let Some(hold) = &mut hold {
        hold.announce(&url)?;
    }
    let stop = web::stop_requested()?;
    announce(&url);
    let settings = http::Settings { public_url: config.public_url.as_deref().map(str::parse).transpose()?, prometheus };
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    let service = opened.service.clone();
    // Told or dropped: both mean the end.
    let background = tokio::spawn(async move { service.run(async { drop(is_over.await) }).await });
    let served = http::serve(opened.service.clone(), listener, settings, stop).await;
    drop(over);
    if tokio::time::timeout(BACKGROUND_PATIENCE, background).await.is_err() {
        tracing::warn!("what was to be done in the background is left to other instances, or to the next start");
    }
    served.context("the service ended")?;
    opened.close().await;
    Ok(())
}
