//! `evenkeel serve`: the console.
//!
//! * `rights/` — who may do what; every route is in its table with the action that it needs.
//! * `security/` — what every request passes: host, forwarding, headers; cookies, tokens, redaction, the audit log.
//! * `serving.rs` — the console from its first socket to its shutdown.
//! * `config.rs` — its configuration file.
//! * `source/` — the Redis and the database that it shows. `collector/` reads their figures for all pages together.
//! * `on.rs` — what the handlers of a route have in common.
//! * `running.rs` — redrives and deletions of groups of dead letters, which run on after their form was answered.
//! * `pages/` — the pages and their forms. `api/` — the JSON API.

mod api;
mod app;
mod collector;
mod config;
mod on;
mod pages;
mod rights;
mod route;
mod running;
mod security;
mod serving;
pub(crate) mod source;
pub(crate) mod token;

pub(crate) use pages::SEGMENT;
pub(crate) use serving::{Console, Serving};
pub(crate) use source::Source;

use crate::address::Address;
use crate::connect::{exit_code, on_addresses};
use crate::database::Database;
use anyhow::Result;
use app::App;
use axum::extract::State;
use axum::middleware::{from_fn, from_fn_with_state};
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use rights::{Action, Table};
use route::Route;
use security::front::{api_problems, front};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use web::telemetry::LOG;
use web::{HttpMetrics, Kind, OwnAddress, Problem, Wrap};

/// The time between two points of the charts.
const STEP: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Read settings from this TOML file; flags and environment variables override it
    #[arg(long, env = "EVENKEEL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Redis: redis://, rediss:// or unix://, with ?prefix= if the service sets a prefix
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", hide_env_values = true)]
    redis: Option<String>,
    /// Database of the outbox and of queues with Durability::Sql: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    #[command(flatten)]
    serving: Serving,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let arguments = match arguments.configured() {
        Ok(arguments) => arguments,
        Err(error) => return exit_code(Err(error), &[]),
    };
    let (redis, database) = (arguments.redis.as_deref(), arguments.database.as_deref());
    on_addresses(redis, database, async |redis, database| {
        Box::pin(serve(arguments.serving, redis, database)).await.map(|()| true)
    })
    .await
}

async fn serve(serving: Serving, redis: &Address, database: Option<&Address>) -> Result<()> {
    let console = Console::bind(serving).await?;
    // Before the first connection, whose failure it reports.
    let telemetry = console.start_telemetry(LOG)?;
    let addresses = [redis].into_iter().chain(database).cloned();
    let database = database.map(Database::open).transpose()?;
    // A console has nothing to report that its own pages do not show.
    let keel = Keel::builder().process_reports(false).connect_lazy_with(LinkOptions::from_url(&redis.url)?).await?;
    let source = Source::new(keel, database).at(addresses);
    console.serve(source, STEP, telemetry).await
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
    let routes = table.into_router();
    app.router.get_or_init(|| routes.clone().with_state(app.clone()));
    let fronted = routes.layer(from_fn_with_state(app.clone(), front));
    Ok(web::wrap(fronted, wrap)?.with_state(app.clone()).layer(from_fn(api_problems)))
}
