//! `stockroom serve`.

use super::open::open;
use crate::config::Config;
use crate::http;
use anyhow::{Context, Result};
use tokio::net::TcpListener;
use web::Hold;
use web::program::{announce, log_to_stderr};

/// Serves until a signal asks to stop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn serve(config: Config) -> Result<()> {
    log_to_stderr();
    let mut hold = Hold::take(&config.database, "stockroom", "serve it", |address| format!("it answers at {address}"))?;
    let listener =
        TcpListener::bind(&config.listen).await.with_context(|| format!("cannot listen on {}", config.listen))?;
    let address = listener.local_addr().context("cannot tell the port")?;
    let prometheus = web::install_metrics().context("cannot install the metrics recorder")?;
    let service = open(&config).await?;

    let url = format!("http://{address}");
    if let Some(hold) = &mut hold {
        hold.announce(&url)?;
    }
    let stop = web::stop_requested()?;
    announce(&url);
    let settings = http::Settings { public_url: config.public_url.as_deref().map(str::parse).transpose()?, prometheus };
    http::serve(service.clone(), listener, settings, stop).await.context("the service ended")?;
    service.close().await;
    Ok(())
}
