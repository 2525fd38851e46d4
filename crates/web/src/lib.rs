//! What every HTTP service of Evenkeel needs and that depends neither on links nor on stock.
//!
//! * [`problems`](mod@problems) — errors as problem documents (RFC 9457): [`Problem`], [`Kind`], and [`problems!`] for the OpenAPI document.
//! * [`requests`] — extractors that reject with a problem ([`JsonBody`], [`Query`], [`Form`]), the [`Host`] header, request ids ([`ShortId`]).
//! * [`layers`] — the middleware around every router: [`wrap()`].
//! * [`listening`] — connections, their limits and timeouts: [`listen()`].
//! * [`pages`] — the layout of HTML pages, embedded assets and the API documentation.
//! * [`startup`] — settings, the lock on the database's file, and a [`Startup`] that answers while the database is unreachable.
//! * [`sql`] — database URLs, connection pools, and statements that run on SQLite, MySQL, MariaDB and PostgreSQL.
//! * [`telemetry`] — the log, and the export of spans.
//! * [`HttpMetrics`] and [`probes`] — what operators see; [`documents`] — checks of an application's documentation, for its tests.
//! * [`values`] — numbers, times, bytes and messages as responses and databases need them.
//! * [`guard()`] — switches with which tests remove single guards of a service.

pub mod documents;
// The source of `evenkeel-link`, on which this crate does not depend: it knows no Redis.
#[path = "../../link/src/support/guard.rs"]
mod guard;
pub mod layers;
pub mod listening;
mod metrics;
mod metrics_page;
pub mod pages;
pub mod probes;
pub mod problems;
pub mod requests;
pub mod sql;
pub mod startup;
pub mod telemetry;
pub mod values;

pub use guard::guard;
pub use layers::{BODY_BYTES_MAX, Changed, Consistency, Wrap, X_CONSISTENCY_STATE, set_nosniff, wrap};
pub use listening::listen;
pub use metrics::{HttpMetrics, RouteGroup, install as install_metrics, run_upkeep as run_metrics_upkeep};
pub use metrics_page::{METRICS_PAGE, MetricRow, metric_rows};
pub use pages::{asset, forms, site};
pub use problems::{FieldError, Kind, Problem};
pub use requests::{Form, Host, JsonBody, OwnAddress, Query, ShortId, X_SHORT_ID, whole_number};
pub use sql::{DatabaseUrl, DatabaseUrlError, is_unreachable};
pub use startup::{
    Fallback, FileLock, Outage, Settings, Started, Startup, StartupOptions, StatusNote, explain_unavailable, program,
    serve_until, settings, stop_requested, stopping, unavailable_routes,
};
pub use telemetry::Telemetry;
pub use values::{capitalized, from_hex, grouped, hex, sentence, signed, timestamp};
