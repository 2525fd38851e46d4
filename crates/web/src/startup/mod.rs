//! Startup of a service: settings, the lock on the database's file, the listener, and a database that may be unreachable.

mod background;
mod file_lock;
pub mod program;
pub mod settings;
mod signals;
mod unavailable;

pub use background::stopping;
pub use file_lock::FileLock;
pub use signals::stop_requested;
pub use unavailable::{StatusNote, explain_unavailable, serve_until, unavailable_routes};

use crate::{DatabaseUrl, Telemetry, install_metrics, telemetry};
use anyhow::{Context, Result};
use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use program::announce;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{info, warn};
use url::Url;

/// The pause between attempts to open an unreachable database.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Settings of the HTTP side of a service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public URL, as in `https://s.example.com`; without it URLs use the host of each request.
    pub public_url: Option<Url>,
    /// Renders `/metrics`; see [`install_metrics`].
    pub prometheus: PrometheusHandle,
}

/// Options of [`Startup::begin`].
#[derive(Clone, Copy, Debug)]
pub struct StartupOptions<'a> {
    /// Name of the program.
    pub program: &'a str,
    /// Its database.
    pub database: &'a DatabaseUrl,
    /// Its data folder.
    pub data: &'a Path,
    /// The address to listen on, `HOST:PORT`.
    pub listen: &'a str,
    /// The public URL.
    pub public_url: Option<&'a str>,
    /// The collector of spans; see [`telemetry::start`].
    pub otlp: Option<&'a str>,
}

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A service that listens and has not opened its database yet.
pub struct Startup {
    file_lock: Option<FileLock>,
    /// The standard library's, since tokio's cannot be duplicated.
    listener: std::net::TcpListener,
    address: SocketAddr,
    settings: Settings,
    stop: BoxFuture,
    is_announced: bool,
    telemetry: Telemetry,
}

/// The state of a service whose database is unreachable.
pub struct Outage<'a> {
    /// The address it listens on.
    pub address: SocketAddr,
    /// Settings of the HTTP side.
    pub settings: &'a Settings,
    /// The error of the last attempt to open the database.
    pub cause: watch::Receiver<String>,
}

/// The router that serves requests while the database is unreachable.
pub struct Fallback {
    router: Router,
    outdated: BoxFuture,
    close: BoxFuture,
}

/// A service that is open.
pub struct Started<T> {
    /// The service.
    pub service: T,
    /// Its listener.
    pub listener: TcpListener,
    /// Settings of the HTTP side.
    pub settings: Settings,
    /// Completes when a shutdown is requested.
    pub stop: BoxFuture,
    /// The lock on the database's file; drop it last.
    pub file_lock: Option<FileLock>,
    /// Close it after the service, so that its last spans are exported.
    pub telemetry: Telemetry,
}

impl Fallback {
    /// Serves `router` until the database is reachable.
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self { router, outdated: Box::pin(std::future::pending()), close: Box::pin(std::future::ready(())) }
    }

    /// Is replaced by a new fallback when `outdated` completes.
    #[must_use]
    pub fn until(self, outdated: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { outdated: Box::pin(outdated), ..self }
    }

    /// Runs `close` before the service or the next fallback is opened.
    #[must_use]
    pub fn on_close(self, close: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { close: Box::pin(close), ..self }
    }
}

impl Startup {
    /// Starts logging, locks the database's file, and listens.
    ///
    /// # Errors
    /// The file is in use, the address cannot be bound, or spans cannot be exported.
    pub async fn begin(with: StartupOptions<'_>) -> Result<Self> {
        let telemetry = telemetry::start(with.program, with.otlp, telemetry::LOG)?;
        let advice = |address: &str| format!("it answers at {address}");
        let file_lock = FileLock::acquire(with.database, with.data, with.program, "serve it", advice)?;
        let listener =
            TcpListener::bind(with.listen).await.with_context(|| format!("cannot listen on {}", with.listen))?;
        let listener = listener.into_std()?;
        let address = listener.local_addr().context("cannot read the port")?;
        let prometheus = install_metrics().context("cannot install the metrics recorder")?;
        let settings = Settings { public_url: with.public_url.map(str::parse).transpose()?, prometheus };
        let stop = Box::pin(stop_requested()?);
        Ok(Self { file_lock, listener, address, settings, stop, is_announced: false, telemetry })
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Runs a step of the start; `None` if a shutdown is requested first. Call nothing else then.
    pub async fn unless_stopped<T>(&mut self, step: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = &mut self.stop => None,
            done = step => Some(done),
        }
    }

    /// Opens the service: `connect` opens the database, `finish` the rest. While the database is unreachable, the router of `fallback`
    /// serves requests. `None` if a shutdown is requested in the meantime.
    ///
    /// # Errors
    /// The errors of `connect` and `finish` for which `is_unreachable` is false.
    pub async fn open<D, T>(
        mut self,
        connect: impl AsyncFn() -> Result<D>,
        finish: impl AsyncFn(D) -> Result<T>,
        is_unreachable: fn(&anyhow::Error) -> bool,
        fallback: impl AsyncFn(Outage<'_>) -> Result<Fallback>,
    ) -> Result<Option<Started<T>>> {
        let Some(mut connected) = self.unless_stopped(connect()).await else { return Ok(None) };
        loop {
            let opened = match connected {
                Ok(database) => self.unless_stopped(finish(database)).await,
                Err(error) => Some(Err(error)),
            };
            let Some(opened) = opened else { return Ok(None) };
            let error = match opened {
                Ok(service) => {
                    self.announce()?;
                    return self.started(service).map(Some);
                }
                Err(error) if is_unreachable(&error) => error,
                Err(error) => return Err(error),
            };
            connected = match self.wait(&error, &connect, is_unreachable, &fallback).await? {
                Some(connected) => connected,
                None => return Ok(None),
            };
        }
    }

    /// Serves the fallback until `connect` succeeds or fails for another reason; `None` if a shutdown is requested.
    #[expect(clippy::disallowed_methods, reason = "the interval between connection attempts")]
    async fn wait<D>(
        &mut self,
        error: &anyhow::Error,
        connect: &impl AsyncFn() -> Result<D>,
        is_unreachable: fn(&anyhow::Error) -> bool,
        fallback: &impl AsyncFn(Outage<'_>) -> Result<Fallback>,
    ) -> Result<Option<Result<D>>> {
        warn!(error = format!("{error:#}"), "starting without the database; retrying every second");
        let (failed, cause) = watch::channel(format!("{error:#}"));
        let mut connecting = Box::pin(async {
            loop {
                tokio::time::sleep(RETRY_PAUSE).await;
                match connect().await {
                    Err(error) if is_unreachable(&error) => drop(failed.send_replace(format!("{error:#}"))),
                    other => return other,
                }
            }
        });
        loop {
            let outage = Outage { address: self.address, settings: &self.settings, cause: cause.clone() };
            let Fallback { router, outdated, close } = fallback(outage).await?;
            self.announce()?;
            let (stop, connecting) = (&mut self.stop, &mut connecting);
            let end = async {
                tokio::select! {
                    biased;
                    () = stop => Some(None),
                    connected = connecting => Some(Some(connected)),
                    () = outdated => None,
                }
            };
            let listener = TcpListener::from_std(self.listener.try_clone()?)?;
            let end = Box::pin(serve_until(listener, router, end)).await;
            close.await;
            let Some(end) = end else { continue };
            if matches!(end, Some(Ok(_))) {
                info!("the database is reachable");
            }
            return Ok(end);
        }
    }

    /// Publishes the address, once.
    fn announce(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_announced, true) {
            return Ok(());
        }
        let url = format!("http://{}", self.address);
        if let Some(file_lock) = &mut self.file_lock {
            file_lock.announce(&url)?;
        }
        announce(&url);
        Ok(())
    }

    fn started<T>(self, service: T) -> Result<Started<T>> {
        let Self { file_lock, listener, settings, stop, telemetry, .. } = self;
        let listener = TcpListener::from_std(listener)?;
        Ok(Started { service, listener, settings, stop, file_lock, telemetry })
    }
}
