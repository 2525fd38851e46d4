//! [`Console`]: a console from its first socket to its shutdown, over any source.

use super::api::Api;
use super::app::App;
use super::collector::Collector;
use super::security::Security;
use super::security::audit::Audit;
use super::security::hosts::Hosts;
use super::security::login::Login;
use super::security::redact::Redaction;
use super::source::Source;
use super::{router, table};
use anyhow::{Context, Result, bail, ensure};
use evenkeel::clock::Clock;
use hyper_util::service::TowerToHyperService;
use metrics_exporter_prometheus::PrometheusHandle;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;
use web::telemetry::{self, Telemetry};

/// The default address of a console.
const LISTEN: &str = "127.0.0.1:8420";
/// How long a shutdown waits for requests in flight.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How a console is served.
#[derive(Default, clap::Args)]
pub(crate) struct Serving {
    /// Address to listen on; without --tokens it must be a loopback address [default: 127.0.0.1:8420]
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) listen: Option<String>,
    /// Require a login: the token file that `evenkeel token new` writes
    #[arg(long, value_name = "FILE")]
    pub(super) tokens: Option<PathBuf>,
    /// The address in browsers, if a proxy is in front, for example https://ops.example.com; requires --tokens
    #[arg(long, value_name = "URL")]
    pub(super) public_url: Option<Url>,
    /// Export spans to this OpenTelemetry collector, such as http://127.0.0.1:4318 (needs a build with --features otel)
    #[arg(long, env = "EVENKEEL_OTLP", value_name = "URL")]
    pub(super) otlp: Option<String>,
    /// Append the audit log to this file (default: standard error)
    #[arg(long, value_name = "FILE")]
    pub(super) audit_log: Option<PathBuf>,
    /// A field of the bodies of a topic that viewers may see, for example mail=user.id; can be repeated
    #[arg(long, value_name = "TOPIC=PATH", value_parser = shown_field)]
    pub(super) show: Vec<(String, String)>,
    /// A field of the values of a stream that viewers may see, for example orders=state; can be repeated
    #[arg(long, value_name = "STREAM=PATH", value_parser = shown_field)]
    pub(super) show_stream: Vec<(String, String)>,
    /// Print every route with the action that it needs, one JSON object a line, and exit
    #[arg(long)]
    routes: bool,
}

fn shown_field(text: &str) -> Result<(String, String), String> {
    let (name, path) = text.split_once('=').ok_or("use NAME=PATH, for example mail=user.id")?;
    check_shown(name, path)?;
    Ok((name.to_owned(), path.to_owned()))
}

/// Refuses what shows nothing, or everything: an empty path is the whole body, which no one means who leaves it out.
pub(super) fn check_shown(name: &str, path: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("{path:?} has no name of a topic or stream: use NAME=PATH, for example mail=user.id"));
    }
    if path.split('.').any(str::is_empty) {
        return Err(format!(
            "the path {path:?} of {name:?} has an empty field: use the names of nested fields with dots, for example user.id"
        ));
    }
    Ok(())
}

impl Serving {
    /// On this address, with a login if there is a token file.
    pub(crate) fn on(listen: &str, tokens: Option<PathBuf>) -> Self {
        Self { listen: Some(listen.to_owned()), tokens, ..Self::default() }
    }
}

/// A console that listens, and has no source yet.
pub(crate) struct Console {
    serving: Serving,
    listener: TcpListener,
    listen: SocketAddr,
    login: Option<Login>,
    prometheus: PrometheusHandle,
}

impl Console {
    /// Binds the socket, reads the tokens, and installs the recorder of metrics.
    pub(crate) async fn bind(serving: Serving) -> Result<Self> {
        let login = serving.tokens.as_deref().map(Login::open).transpose()?;
        let listen = serving.listen.as_deref().unwrap_or(LISTEN);
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let listen = listener.local_addr()?;
        check_exposure(listen, serving.public_url.as_ref(), login.is_some())?;
        Ok(Self { serving, listener, listen, login, prometheus: web::install_metrics()? })
    }

    /// Starts the log of what `log` selects, and the export of spans.
    pub(crate) fn start_telemetry(&self, log: &str) -> Result<Telemetry> {
        telemetry::start("evenkeel", self.serving.otlp.as_deref(), log)
    }

    /// Serves until the program is asked to stop. `step` is the time between two points of the charts.
    pub(crate) async fn serve(self, source: Source, step: Duration, telemetry: Telemetry) -> Result<()> {
        let Self { serving, listener, listen, login, prometheus } = self;
        let source = Arc::new(source);
        let clock = Clock::system();
        let (stop_sender, stopping) = watch::channel(false);
        let security = Security {
            hosts: Hosts::new(listen, serving.public_url.clone()),
            login,
            redaction: Redaction::new(&serving.show, &serving.show_stream),
            process_key: rand::random(),
        };
        let app = App {
            api: Arc::new(Api::new(&source.keel, clock.clone())),
            collector: Collector::new(Arc::clone(&source), clock, step),
            source,
            security: Arc::new(security),
            audit: Arc::new(Audit::open(serving.audit_log.as_ref())?),
            operations: Arc::default(),
            prometheus,
            router: Arc::default(),
            stopping,
        };
        let table = table(&app);
        if serving.routes {
            return crate::output::write(&table.lines());
        }
        let router = router(table, &app, listen)?;
        app.collector.run_once().await;
        let upkeep = web::run_metrics_upkeep(app.prometheus.clone());
        let tasks = [tokio::spawn(Arc::clone(&app.collector).run()), tokio::spawn(upkeep)];
        web::program::announce(&format!("http://{listen}"));
        let requested = web::stop_requested()?;
        let stop = async move {
            requested.await;
            // Event streams end, so that the shutdown does not wait for them.
            stop_sender.send_replace(true);
        };
        web::listen(listener, TowerToHyperService::new(router), stop, SHUTDOWN_TIMEOUT).await;
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        telemetry.close().await;
        Ok(())
    }
}

/// Refuses to start where strangers could reach a console without a login, or read its cookie.
fn check_exposure(listen: SocketAddr, public_url: Option<&Url>, has_login: bool) -> Result<()> {
    if !listen.ip().is_loopback() && !has_login {
        bail!(
            "{listen} is not a loopback address: without a login everybody who reaches it could operate the queues; add --tokens FILE (`evenkeel token new` creates it), or listen on 127.0.0.1"
        );
    }
    ensure!(
        public_url.is_none() || has_login,
        "behind a proxy, everybody who reaches it could operate the queues: add --tokens FILE (`evenkeel token new` creates it) to --public-url"
    );
    if !listen.ip().is_loopback() {
        ensure!(
            public_url.is_some_and(|url| url.scheme() == "https"),
            "beyond loopback, tokens must not travel in the clear: add --public-url https://.. of a proxy with TLS"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_exposure;

    #[test]
    fn console_beyond_loopback_needs_login_and_https() {
        let (local, open) = (([127, 0, 0, 1], 1).into(), ([0, 0, 0, 0], 1).into());
        let (plain, tls) = ("http://ops.example".parse().ok(), "https://ops.example".parse().ok());
        assert!(check_exposure(local, None, false).is_ok() && check_exposure(open, tls.as_ref(), true).is_ok());
        assert!(check_exposure(open, None, false).is_err() && check_exposure(open, tls.as_ref(), false).is_err());
        assert!(
            check_exposure(local, tls.as_ref(), false).is_err() && check_exposure(local, plain.as_ref(), true).is_ok()
        );
        assert!(check_exposure(open, None, true).is_err() && check_exposure(open, plain.as_ref(), true).is_err());
    }
}
