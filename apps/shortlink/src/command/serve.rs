//! `shortlink serve`.

use super::folder::hold;
use crate::config::Config;
use crate::domain::TargetRules;
use crate::http;
use crate::service::Service;
use crate::store::Store;
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// What is on its way to Redis when the service stops may take this long.
const KEEL_PATIENCE: Duration = Duration::from_secs(1);

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
    let clock = Clock::system();
    let store = open_store(&config, clock.clone()).await?;
    let own: Vec<String> = config.public_url.iter().cloned().chain([address.to_string()]).collect();
    let keel = open_keel(&config, &store).await?;
    let rules = TargetRules::new(&own, config.refuse_private);
    let service = Service::open(store.clone(), keel.clone(), rules, clock)?;

    let url = format!("http://{address}");
    if let Some(hold) = &mut hold {
        hold.announce(&url)?;
    }
    let stop = http::stop_requested()?;
    announce(&url);
    let settings = http::Settings { public_url: config.public_url.as_deref().map(str::parse).transpose()?, prometheus };
    http::serve(service, listener, settings, stop).await.context("the service ended")?;
    keel.shutdown(KEEL_PATIENCE).await;
    store.close().await;
    Ok(())
}

/// Opens the configured database.
pub(super) async fn open_store(config: &Config, clock: Clock) -> Result<Store> {
    Store::open(&config.database, clock).await.with_context(|| format!("cannot open the database {}", config.database))
}

/// Connects to Redis, if there is one. Databases that share a Redis do not meet in it: each has its own prefix.
async fn open_keel(config: &Config, store: &Store) -> Result<Keel> {
    let Some(url) = &config.redis else { return Ok(Keel::memory()) };
    let mut options = LinkOptions::from_url(url).context("the setting \"redis\" is wrong")?;
    options.prefix = format!("{}-{}", options.prefix, store.name());
    Keel::builder().connect_with(options).await.context("cannot use Redis")
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
