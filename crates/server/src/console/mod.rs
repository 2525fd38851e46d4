//! `evenkeel serve`: the console.
//!
//! * `rights/` — who may do what; every route is in its table with the action that it needs.
//! * `security/` — what every request passes: host, forwarding, headers; cookies, tokens, redaction, the audit log.
//! * `source/` — the Redis and the database that it shows. `collector/` reads their figures for all pages together.
//! * `pages/` — the pages and their forms. `api/` — the JSON API.

mod api;
mod app;
mod collector;
mod kind;
mod pages;
mod rights;
mod route;
mod security;
pub(crate) mod source;
pub(crate) mod token;

use crate::connect::{database_address, exit_code, redis_address};
use anyhow::{Context, Result, bail, ensure};
use api::Api;
use app::App;
use axum::extract::State;
use axum::middleware::from_fn_with_state;
use collector::Collector;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use hyper_util::service::TowerToHyperService;
use rights::{Action, Table};
use route::Route;
use security::Security;
use security::audit::Audit;
use security::front::front;
use security::hosts::Hosts;
use security::login::Login;
use security::redact::Redaction;
use source::{Database, Source};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;
use web::{HttpMetrics, Kind, OwnAddress, Problem, Wrap};

/// How long a shutdown waits for requests in flight.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Redis: redis://, rediss:// or unix://, with ?prefix= if the service sets a prefix
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", hide_env_values = true)]
    redis: Option<String>,
    /// Database of the outbox and of queues with Durability::Sql: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Address to listen on; without --tokens it must be a loopback address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8420")]
    listen: String,
    /// Require a login: the token file that `evenkeel token new` writes
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The address in browsers, if a proxy is in front, for example https://ops.example.com; requires --tokens
    #[arg(long, value_name = "URL", requires = "tokens")]
    public_url: Option<Url>,
    /// Export spans to this OpenTelemetry collector, such as http://127.0.0.1:4318 (needs a build with --features otel)
    #[arg(long, env = "EVENKEEL_OTLP", value_name = "URL")]
    otlp: Option<String>,
    /// Append the audit log to this file (default: standard error)
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// A field of the bodies of a topic that viewers may see, for example mail=user.id; can be repeated
    #[arg(long, value_name = "TOPIC=PATH", value_parser = shown_field)]
    show: Vec<(String, String)>,
    /// Print every route with the action that it needs, one JSON object a line, and exit
    #[arg(long)]
    routes: bool,
}

fn shown_field(text: &str) -> Result<(String, String), String> {
    let (topic, path) = text.split_once('=').ok_or("use TOPIC=PATH, for example mail=user.id")?;
    Ok((topic.to_owned(), path.to_owned()))
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let addresses: Result<Vec<_>> = [redis_address(arguments.redis.as_deref())]
        .into_iter()
        .chain(arguments.database.as_deref().map(|url| database_address(Some(url))))
        .collect();
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(error) => return exit_code(Err(error), &[]),
    };
    let result = Box::pin(serve(&arguments, &addresses)).await;
    exit_code(result.map(|()| true), &addresses.iter().collect::<Vec<_>>())
}

async fn serve(arguments: &Arguments, addresses: &[crate::address::Address]) -> Result<()> {
    let redis = addresses.first().context("no Redis given")?;
    let login = arguments.tokens.as_deref().map(Login::open).transpose()?;
    let listener =
        TcpListener::bind(&arguments.listen).await.with_context(|| format!("cannot listen on {}", arguments.listen))?;
    let listen = listener.local_addr()?;
    check_exposure(listen, arguments.public_url.as_ref(), login.is_some())?;
    let database = addresses.get(1).map(Database::open).transpose()?;
    let source = Arc::new(Source::new(Keel::connect_lazy(&redis.url).await?, database));
    let clock = Clock::system();
    let (stop_sender, stopping) = watch::channel(false);
    let security = Security {
        hosts: Hosts::new(listen, arguments.public_url.clone()),
        login,
        redaction: Redaction::new(shown(&arguments.show)),
        process_key: rand::random(),
    };
    let app = App {
        api: Arc::new(Api::new(&source.keel, clock.clone())),
        collector: Collector::new(Arc::clone(&source), clock),
        source,
        security: Arc::new(security),
        audit: Arc::new(Audit::open(arguments.audit_log.as_ref())?),
        prometheus: web::install_metrics()?,
        stopping,
    };
    let table = table(&app);
    if arguments.routes {
        return crate::output::write(&table.lines());
    }
    let telemetry = web::telemetry::start("evenkeel", arguments.otlp.as_deref())?;
    let router = router(table, &app, listen)?;
    app.collector.run_once().await;
    let tasks =
        [tokio::spawn(Arc::clone(&app.collector).run()), tokio::spawn(web::run_metrics_upkeep(app.prometheus.clone()))];
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

/// Refuses to start where strangers could reach a console without a login, or read its cookie.
fn check_exposure(listen: SocketAddr, public_url: Option<&Url>, has_login: bool) -> Result<()> {
    if !listen.ip().is_loopback() && !has_login {
        bail!(
            "{listen} is not a loopback address: without a login everybody who reaches it could operate the queues; add --tokens FILE (`evenkeel token new` creates it), or listen on 127.0.0.1"
        );
    }
    if !listen.ip().is_loopback() {
        ensure!(
            public_url.is_some_and(|url| url.scheme() == "https"),
            "beyond loopback, tokens must not travel in the clear: add --public-url https://.. of a proxy with TLS"
        );
    }
    Ok(())
}

fn shown(fields: &[(String, String)]) -> HashMap<String, Vec<String>> {
    let mut shown: HashMap<String, Vec<String>> = HashMap::new();
    fields.iter().for_each(|(topic, path)| shown.entry(topic.clone()).or_default().push(path.clone()));
    shown
}

fn table(app: &App) -> Table {
    api::routes(pages::routes(Table::new(app.clone())))
        .plain("/health/live", Action::Public, async || "live\n")
        .plain("/health/ready", Action::Public, ready)
        .plain("/metrics", Action::Read, web::probes::metrics)
}

/// Ready once Redis answered, and as long as it does.
async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    let snapshot = app.collector.snapshot();
    match snapshot.failed {
        None if snapshot.at > 0 => Ok("ready\n"),
        _ => Err(Problem::new(Kind::UNAVAILABLE, "Not ready: Redis does not answer.")),
    }
}

fn router(table: Table, app: &App, listen: SocketAddr) -> Result<axum::Router> {
    let public_url = app.security.hosts.public_url();
    let metrics = Arc::new(HttpMetrics::<Route>::register());
    let own = OwnAddress::new(listen, public_url.cloned());
    let (problem_page, visitor_page) =
        (pages::problem_page as fn(&Problem) -> maud::Markup, pages::problem_page as fn(&Problem) -> maud::Markup);
    let wrap = Wrap { own, public_url, metrics, problem_page, visitor_page };
    let fronted = table.into_router().layer(from_fn_with_state(app.clone(), front));
    Ok(web::wrap(fronted, wrap)?.with_state(app.clone()))
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
        assert!(check_exposure(open, None, true).is_err() && check_exposure(open, plain.as_ref(), true).is_err());
    }
}
