//! What Evenkeel's applications share of being a service: nothing here knows links or goods.
//!
//! * [`Problem`] and [`Kind`] — every error is a problem document (RFC 9457); [`problems!`] puts them into the OpenAPI document.
//! * [`JsonBody`], [`Query`], [`Form`] — extractors that refuse with a problem; [`Host`] — the host a request named.
//! * [`wrap()`] — what goes around the routes; [`listen()`] — connections; [`starting()`], [`tell_missing`] — before the database is there; [`stop_requested`] — when to stop.
//! * [`HttpMetrics`] and [`Family`] — what is counted; [`ShortId`] — what a request is called.
//! * [`site`], [`asset`], [`docs`] — the parts of a page that do not tell what it is about; [`probes`] — what machinery asks.
//! * [`settings`], [`DatabaseUrl`], [`Hold`], [`Opening`], [`program`] — how a program starts; [`documents`] — what is told of that.

pub mod asset;
mod consistency;
mod database_url;
pub mod docs;
pub mod documents;
mod extract;
mod hold;
mod host;
mod kind;
mod listen;
mod metrics;
mod negotiate;
mod observe;
mod opening;
mod patience;
pub mod probes;
mod problem;
pub mod program;
pub mod responses;
mod room;
mod secure;
pub mod settings;
mod short_id;
mod signals;
pub mod site;
mod starting;
mod wrap;

pub use consistency::Consistency;
pub use database_url::{DatabaseUrl, DatabaseUrlRefused, is_away};
pub use extract::{Form, JsonBody, Query, Refuses};
pub use hold::Hold;
pub use host::{Host, OwnAddress};
pub use kind::Kind;
pub use listen::listen;
pub use metrics::{Family, HttpMetrics, install as install_metrics, keep_up as keep_metrics_up};
pub use observe::{Changed, X_CONSISTENCY_STATE};
pub use opening::{Begin, Meanwhile, Opened, Opening, Settings, Waiting};
pub use problem::{FieldError, Problem};
pub use secure::trust_the_type;
pub use short_id::{ShortId, X_SHORT_ID};
pub use signals::stop_requested;
pub use starting::{Note, serve_while, starting, tell_missing};
pub use wrap::{BODY_BYTES_MAX, Wrap, wrap};
