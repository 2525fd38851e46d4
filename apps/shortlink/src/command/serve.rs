//! `shortlink serve`.

use super::folder::hold;
use super::open::open;
use crate::config::Config;
use crate::http;
use anyhow::{Context, Result};
use std::io::{IsTerminal, Write};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Serves until a signal asks to stop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn serve(config: Config) -> Result<()> {
    log_to_stderr();
    let mut hold = hold(&config, "serve it", |address| format!("it answers at {address}"))?;
    let listener =
        TcpListener::bind(&config.listen).await.with_context(|| format!("cannot listen on {}", config.listen))?;
    let address = listener.local_addr().context("cannot tell the port")?;
    let prometheus = http::install_metrics().context("cannot install the metrics recorder")?;
    let opened = open(&config, Some(address.to_string())).await?;

    let url = format!("http://{address}");
    if let Some(hold) = &mut hold {
        hold.announce(&url)?;
    }
    let stop = http::stop_requested()?;
    announce(&url);
    let settings = http::Settings { public_url: config.public_url.as_deref().map(str::parse).transpose()?, prometheus };
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    let service = opened.service.clone();
    let ends = tokio::spawn(async move {
        // Told or dropped: both mean the end.
        let over = async { drop(is_over.await) };
        if let Err(error) = service.switch_off(over).await {
            tracing::warn!(%error, "links are not switched off any more; their ends are still checked on read");
        }
    });
    let served = http::serve(opened.service.clone(), listener, settings, stop).await;
    drop(over);
    drop(ends.await);
    served.context("the service ended")?;
    opened.close().await;
    Ok(())
}

/// The first line on standard output, which scripts wait for.
fn announce(url: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening to us; we serve all the same.
    let _ = writeln!(out, "listening on {url}").and_then(|()| out.flush());
}

/// Standard output has the one line that scripts wait for; everything else goes to standard error. `RUST_LOG` chooses how much.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // Fails only if this process logs already, which is as good.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
