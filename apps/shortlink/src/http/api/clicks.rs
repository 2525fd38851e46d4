//! `/api/links/{code}/clicks`

use crate::domain::{ClickCounts, ClickStats, DAYS_MAX, DayClicks};
use crate::http::App;
use crate::http::openapi::ClickProblems;
use crate::http::unknown_code;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{Kind, Problem, Query};

/// The days of a response, unless the request says how many.
const DAYS: u32 = 30;

/// The query of a request for clicks.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ClicksQuery {
    /// How many days, up to today (UTC), 1 to 366.
    #[param(minimum = 1, maximum = 366, default = 30)]
    days: Option<u32>,
}

/// The clicks of a link.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClicksBody {
    /// Code of the link.
    #[schema(example = "problem-details")]
    code: String,
    /// All clicks since the link was created.
    total: CountsBody,
    /// The last days (UTC), oldest first, without gaps; the last one is today.
    days: Vec<DayBody>,
}

/// How often a link was followed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CountsBody {
    /// Clicks of people.
    #[schema(example = 12)]
    clicks: u64,
    /// Clicks of programs, by their `User-Agent`: crawlers, previews, HTTP libraries.
    #[schema(example = 3)]
    bot_clicks: u64,
}

/// The clicks of one day.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DayBody {
    /// The day (UTC).
    #[schema(format = Date, example = "2026-11-25")]
    day: String,
    /// Clicks of people.
    #[schema(example = 12)]
    clicks: u64,
    /// Clicks of programs.
    #[schema(example = 3)]
    bot_clicks: u64,
}

/// Read the clicks of a link
///
/// Counted by day, bots apart. The counters lag behind the redirects by a few seconds, and longer while Redis or the database is
/// unreachable.
#[utoipa::path(
    get, path = "/api/links/{code}/clicks", operation_id = "read_clicks", tag = "links",
    params(("code" = String, Path, description = "Code or alias, case-sensitive"), ClicksQuery),
    responses((status = 200, description = "The clicks", body = ClicksBody), ClickProblems)
)]
pub(super) async fn read(
    State(app): State<App>,
    Path(code): Path<String>,
    Query(query): Query<ClicksQuery>,
) -> Result<Response, Problem> {
    let days = query.days.unwrap_or(DAYS);
    if !(1..=DAYS_MAX).contains(&days) {
        let detail = format!("The number of days must be between 1 and {DAYS_MAX}, not {days}.");
        return Err(Problem::of_field(Kind::INVALID_INPUT, "days", detail));
    }
    let stats = app.service.clicks(&code, days).await?.ok_or_else(|| unknown_code(&code))?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(ClicksBody::new(code, &stats))).into_response())
}

impl ClicksBody {
    fn new(code: String, stats: &ClickStats) -> Self {
        Self { code, total: stats.total.into(), days: stats.days.iter().map(DayBody::from).collect() }
    }
}

impl From<ClickCounts> for CountsBody {
    fn from(counts: ClickCounts) -> Self {
        Self { clicks: counts.people, bot_clicks: counts.bots }
    }
}

impl From<&DayClicks> for DayBody {
    fn from(day: &DayClicks) -> Self {
        Self { day: day.day.to_string(), clicks: day.counts.people, bot_clicks: day.counts.bots }
    }
}
