//! `shortlink serve`.

use super::folder::hold_or_refuse;
use crate::config::Config;
use crate::domain::TargetRules;
use crate::http;
use crate::service::Service;
use crate::store::Store;
use anyhow::{Context, Result};
use evenkeel::clock::Clock;
use std::io::Write;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until a signal asks to stop.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn serve(config: Config) -> Result<()> {
    let mut hold = hold_or_refuse(&config, "serve it", |address| format!("it answers at {address}"))?;
    let listener =
        TcpListener::bind(&config.listen).await.with_context(|| format!("cannot listen on {}", config.listen))?;
    let address = listener.local_addr().context("cannot tell the port")?;
    let clock = Clock::system();
    let store = open_store(&config, clock.clone()).await?;
    let own: Vec<String> = config.public_url.iter().cloned().chain([address.to_string()]).collect();
    let service = Service::new(store.clone(), TargetRules::new(&own, config.refuse_private), clock);

    let url = format!("http://{address}");
    if let Some(hold) = &mut hold {
        hold.announce(&url)?;
    }
    let stop = stop_signal()?;
    announce(&url);
    http::serve(service, listener, stop).await.context("the service ended")?;
    store.close().await;
    Ok(())
}

/// Opens the configured database.
pub(super) async fn open_store(config: &Config, clock: Clock) -> Result<Store> {
    Store::open(&config.database, clock).await.with_context(|| format!("cannot open the database {}", config.database))
}

/// The first line on standard output, which scripts wait for.
fn announce(url: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening to us; we serve all the same.
    let _ = writeln!(out, "listening on {url}").and_then(|()| out.flush());
}

/// Ready when somebody asks the process to end: SIGTERM, or Ctrl-C.
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for signals")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
