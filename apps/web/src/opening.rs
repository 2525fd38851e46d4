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

/// Something that ends by itself.
type Ends = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A service that listens and is not open yet.
pub struct Opening {
    hold: Option<Hold>,
    /// Not tokio's, which cannot be duplicated.
    listener: std::net::TcpListener,
    address: SocketAddr,
    settings: Settings,
    stop: Ends,
    is_announced: bool,
}

/// A service whose database is away.
pub struct Waiting<'a> {
    /// Where it listens.
    pub address: SocketAddr,
    /// What the HTTP side is told.
    pub settings: &'a Settings,
    /// What the last attempt to open the database said.
    pub missing: watch::Receiver<String>,
}

/// What answers while the database is away.
pub struct Meanwhile {
    router: Router,
    outdated: Ends,
    close: Ends,
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
    pub stop: Ends,
    /// The right to the database's file, until this is dropped.
    pub hold: Option<Hold>,
}

impl Meanwhile {
    /// Answers with `router`, and does nothing else.
    #[must_use]
    pub fn answers(router: Router) -> Self {
        Self { router, outdated: Box::pin(std::future::pending()), close: Box::pin(std::future::ready(())) }
    }

    /// Is closed, and another one made, when `outdated` is ready: that one can do more.
    #[must_use]
    pub fn until(self, outdated: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { outdated: Box::pin(outdated), ..self }
    }

    /// Runs `close` to its end before the service, or another one of these, is opened.
    #[must_use]
    pub fn closing(self, close: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { close: Box::pin(close), ..self }
    }
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
        let listener = listener.into_std()?;
        let address = listener.local_addr().context("cannot tell the port")?;
        let prometheus = install_metrics().context("cannot install the metrics recorder")?;
        let settings = Settings { public_url: with.public_url.map(str::parse).transpose()?, prometheus };
        let stop = Box::pin(stop_requested()?);
        Ok(Self { hold, listener, address, settings, stop, is_announced: false })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens the service: connects to its database, then opens the rest with it. While the database is away (`is_away`), what
    /// `meanwhile` makes answers. `None` if the service is asked to stop then.
    ///
    /// # Errors
    /// What the attempts say that is not about the database being away.
    pub async fn open<D, T>(
        mut self,
        connect: impl AsyncFn() -> Result<D>,
        finish: impl AsyncFn(D) -> Result<T>,
        is_away: fn(&anyhow::Error) -> bool,
        meanwhile: impl AsyncFn(Waiting<'_>) -> Result<Meanwhile>,
    ) -> Result<Option<Opened<T>>> {
        let mut connected = connect().await;
        loop {
            let opened = match connected {
                Ok(database) => finish(database).await,
                Err(error) => Err(error),
            };
            let missing = match opened {
                Ok(service) => {
                    self.announce()?;
                    return self.opened(service).map(Some);
                }
                Err(error) if is_away(&error) => error,
                Err(error) => return Err(error),
            };
            connected = match self.wait(&missing, &connect, is_away, &meanwhile).await? {
                Some(connected) => connected,
                None => return Ok(None),
            };
        }
    }

    /// Answers with what `meanwhile` makes until the database is there, or refuses; `None`: until the service is asked to stop.
    #[expect(clippy::disallowed_methods, reason = "the interval between connection attempts")]
    async fn wait<D>(
        &mut self,
        missing: &anyhow::Error,
        connect: &impl AsyncFn() -> Result<D>,
        is_away: fn(&anyhow::Error) -> bool,
        meanwhile: &impl AsyncFn(Waiting<'_>) -> Result<Meanwhile>,
    ) -> Result<Option<Result<D>>> {
        warn!(error = format!("{missing:#}"), "the service starts without its database; trying again every second");
        let (missing, is_missing) = watch::channel(format!("{missing:#}"));
        let mut connecting = Box::pin(async {
            loop {
                tokio::time::sleep(PAUSE).await;
                match connect().await {
                    Err(error) if is_away(&error) => drop(missing.send_replace(format!("{error:#}"))),
                    other => return other,
                }
            }
        });
        loop {
            let waiting = Waiting { address: self.address, settings: &self.settings, missing: is_missing.clone() };
            let Meanwhile { router, outdated, close } = meanwhile(waiting).await?;
            self.announce()?;
            let (stop, connecting) = (&mut self.stop, &mut connecting);
            let over = async {
                tokio::select! {
                    biased;
                    () = stop => Some(None),
                    connected = connecting => Some(Some(connected)),
                    () = outdated => None,
                }
            };
            let listener = TcpListener::from_std(self.listener.try_clone()?)?;
            let over = Box::pin(serve_while(listener, router, over)).await;
            close.await;
            let Some(over) = over else { continue };
            if matches!(over, Some(Ok(_))) {
                info!("the database is there");
            }
            return Ok(over);
        }
    }

    /// Once, however often it is called.
    fn announce(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_announced, true) {
            return Ok(());
        }
        let url = format!("http://{}", self.address);
        if let Some(hold) = &mut self.hold {
            hold.announce(&url)?;
        }
        announce(&url);
        Ok(())
    }

    fn opened<T>(self, service: T) -> Result<Opened<T>> {
        let Self { hold, listener, settings, stop, .. } = self;
        Ok(Opened { service, listener: TcpListener::from_std(listener)?, settings, stop, hold })
    }
}
