//! `stockroom serve`.

use super::open::{is_away, open};
use crate::config::Config;
use crate::http;
use crate::service::Service;
use anyhow::{Context, Result};
use std::future::Future;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{info, warn};
use web::Hold;
use web::program::{announce, log_to_stderr};

/// Between attempts to open a database that is away.
const OPEN_PAUSE: Duration = Duration::from_secs(1);

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
    let settings = http::Settings { public_url: config.public_url.as_deref().map(str::parse).transpose()?, prometheus };
    let mut stop = Box::pin(web::stop_requested()?);
    let announced = || {
        let url = format!("http://{address}");
        if let Some(hold) = &mut hold {
            hold.announce(&url)?;
        }
        announce(&url);
        Ok(())
    };
    let opened = Box::pin(open_in_time(&config, listener, &settings, announced, &mut stop)).await?;
    let Some((listener, service)) = opened else { return Ok(()) };
    http::serve(service.clone(), listener, settings, stop).await.context("the service ended")?;
    service.close().await;
    Ok(())
}

/// Opens the service. While its database is away, probes are answered and everything else is refused; `None` if it is asked to
/// stop meanwhile.
async fn open_in_time(
    config: &Config,
    listener: TcpListener,
    settings: &http::Settings,
    announced: impl FnOnce() -> Result<()>,
    stop: &mut (impl Future<Output = ()> + Unpin),
) -> Result<Option<(TcpListener, Service)>> {
    let address = listener.local_addr().context("cannot tell the port")?;
    let first = match open(config).await {
        Ok(opened) => {
            announced()?;
            return Ok(Some((listener, opened)));
        }
        Err(error) if is_away(&error) => error,
        Err(error) => return Err(error),
    };
    warn!(error = format!("{first:#}"), "starting without the database; trying again every second");
    announced()?;
    let (missing, is_missing) = watch::channel(format!("{first:#}"));
    let router = http::starting(address, settings, is_missing)?;
    let opening = async {
        loop {
            tokio::time::sleep(OPEN_PAUSE).await;
            match open(config).await {
                Err(error) if is_away(&error) => drop(missing.send_replace(format!("{error:#}"))),
                other => return other,
            }
        }
    };
    let opening = async {
        tokio::select! {
            biased;
            () = stop => Ok(None),
            opened = opening => opened.map(Some),
        }
    };
    let (listener, opened) = Box::pin(web::serve_while(listener, router, opening)).await?;
    let Some(opened) = opened? else { return Ok(None) };
    info!("the database is there: the service is open");
    Ok(Some((listener, opened)))
}
