//! How a service begins: the right to its file, a port, the first line, and a database that may be away.

use crate::program::{announce, log_to_stderr};
use crate::{DatabaseUrl, Hold, install_metrics, serve_while, stop_requested};
use anyhow::{Context, Result};
use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{info, warn};
use url::Url;

/// Between attempts to open a database that is away.
const PAUSE: Duration = Duration::from_secs(1);

/// What the HTTP side of a service is told beside the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the outside calls this service, as in `https://s.example.com`; without it, what each request calls it.
    pub public_url: Option<Url>,
    /// What `/metrics` shows; see [`install_metrics`].
    pub prometheus: PrometheusHandle,
}

/// What a service begins with.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// What the program is called.
    pub program: &'a str,
    /// Its database.
    pub database: &'a DatabaseUrl,
    /// Its data folder.
    pub data: &'a Path,
    /// Where to listen, `HOST:PORT`.
    pub listen: &'a str,
    /// What the outside calls it.
    pub public_url: Option<&'a str>,
}

/// A service that listens and is not open yet.
pub struct Opening {
    hold: Option<Hold>,
    listener: TcpListener,
    address: SocketAddr,
    settings: Settings,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A service that is open: what it is, where requests come in, and what ends it.
pub struct Opened<T> {
    /// The service.
    pub service: T,
    /// Where requests come in.
    pub listener: TcpListener,
    /// What the HTTP side is told.
    pub settings: Settings,
    /// Ready once the service is asked to stop.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The right to the database's file, until this is dropped.
    pub hold: Option<Hold>,
}

impl Opening {
    /// Takes hold of the database's file, listens, and logs from now on.
    ///
    /// # Errors
    /// One sentence on what is in the way.
    pub async fn begin(with: Begin<'_>) -> Result<Self> {
        log_to_stderr();
        let instead = |address: &str| format!("it answers at {address}");
        let hold = Hold::take(with.database, with.data, with.program, "serve it", instead)?;
        let listener =
            TcpListener::bind(with.listen).await.with_context(|| format!("cannot listen on {}", with.listen))?;
        let address = listener.local_addr().context("cannot tell the port")?;
        let prometheus = install_metrics().context("cannot install the metrics recorder")?;
        let settings = Settings { public_url: with.public_url.map(str::parse).transpose()?, prometheus };
        let stop = Box::pin(stop_requested()?);
        Ok(Self { hold, listener, address, settings, stop })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens the service. While what it needs is away (`is_away`), `starting` answers probes and refuses everything else; `None`
    /// if it is asked to stop meanwhile.
    ///
    /// # Errors
    /// What `open` says that is not about something being away.
    pub async fn open<T>(
        mut self,
        open: impl AsyncFn() -> Result<T>,
        is_away: fn(&anyhow::Error) -> bool,
        starting: impl FnOnce(SocketAddr, &Settings, watch::Receiver<String>) -> Result<Router>,
    ) -> Result<Option<Opened<T>>> {
        let first = match open().await {
            Ok(service) => {
                self.announce()?;
                return Ok(Some(self.opened(service)));
            }
            Err(error) if is_away(&error) => error,
            Err(error) => return Err(error),
        };
        warn!(error = format!("{first:#}"), "starting without the database; trying again every second");
        self.announce()?;
        let (missing, is_missing) = watch::channel(format!("{first:#}"));
        let router = starting(self.address, &self.settings, is_missing)?;
        let opening = async {
            loop {
                tokio::time::sleep(PAUSE).await;
                match open().await {
                    Err(error) if is_away(&error) => drop(missing.send_replace(format!("{error:#}"))),
                    other => return other,
                }
            }
        };
        let stop = &mut self.stop;
        let opening = async {
            tokio::select! {
                biased;
                () = stop => Ok(None),
                opened = opening => opened.map(Some),
            }
        };
        let (listener, opened) = Box::pin(serve_while(self.listener, router, opening)).await?;
        self.listener = listener;
        let Some(service) = opened? else { return Ok(None) };
        info!("the database is there: the service is open");
        Ok(Some(self.opened(service)))
    }

    fn announce(&mut self) -> Result<()> {
        let url = format!("http://{}", self.address);
        if let Some(hold) = &mut self.hold {
            hold.announce(&url)?;
        }
        announce(&url);
        Ok(())
    }

    fn opened<T>(self, service: T) -> Opened<T> {
        let Self { hold, listener, settings, stop, .. } = self;
        Opened { service, listener, settings, stop, hold }
    }
}
