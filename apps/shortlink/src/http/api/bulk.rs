//! `/api/import` and `/api/export`: bulk transfer, as used by `shortlink import|export --server`.

use crate::http::App;
use crate::http::openapi::{ListProblems, WriteProblems};
use crate::service::{Service, ServiceError};
use crate::store::{ImportRow, RowOutcome};
use crate::transfer::TransferRow;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{Changed, FieldError, Host, JsonBody, Kind, Problem, Query};

/// Rows in one request. They share a transaction, and other imports wait for it.
pub const IMPORT_ROWS_MAX: usize = 500;

/// Rows that an export reads from the database at a time.
const EXPORT_ROWS: u32 = 500;

/// Query of an export.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// Whether each link has its clicks. Programs of the version before do not read them.
    #[param(default = false)]
    clicks: Option<bool>,
}

/// Links to import.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBatch {
    /// At most 500.
    #[schema(max_items = 500)]
    pub rows: Vec<TransferRow>,
}

/// Results of the rows.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportReport {
    /// One result for each row, in the order of the rows.
    pub outcomes: Vec<ImportOutcome>,
}

/// Result of one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ImportOutcome {
    /// A new link.
    Created {
        /// Code of the link.
        code: String,
    },
    /// The link exists already; nothing was changed.
    Present,
    /// The code has another target; nothing was changed.
    Taken {
        /// The code.
        code: String,
    },
    /// The row is invalid, or the database does not accept its values.
    Refused {
        /// Why.
        detail: String,
    },
}

impl ImportOutcome {
    /// The outcomes of all rows, in their order: `checked` says which are valid, and `written` has the outcomes of those.
    pub(crate) fn of_rows(checked: &[Result<ImportRow, String>], written: &[RowOutcome]) -> Vec<Self> {
        let mut written = written.iter();
        let outcome = |row: &Result<ImportRow, String>| match row {
            Ok(_) => written.next().map(Self::from),
            Err(detail) => Some(Self::Refused { detail: detail.clone() }),
        };
        checked.iter().filter_map(outcome).collect()
    }
}

impl From<&RowOutcome> for ImportOutcome {
    fn from(outcome: &RowOutcome) -> Self {
        match outcome {
            RowOutcome::Created(code) => Self::Created { code: code.to_string() },
            RowOutcome::Present => Self::Present,
            RowOutcome::Taken(code) => Self::Taken { code: code.to_string() },
            RowOutcome::Refused(why) => {
                Self::Refused { detail: format!("the database does not accept this row: {why}") }
            }
        }
    }
}

/// Import links
///
/// Imports all valid rows in one transaction. Repeating a request changes nothing: a row whose code exists, or, without a code, whose
/// target exists, is skipped.
#[utoipa::path(
    post, path = "/api/import", tag = "transfer", request_body = ImportBatch,
    responses(
        (status = 200, description = "Result of each row", body = ImportReport, headers(
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        WriteProblems,
    )
)]
pub(super) async fn import(
    State(app): State<App>,
    host: Host,
    JsonBody(batch): JsonBody<ImportBatch>,
) -> Result<Response, Problem> {
    if batch.rows.len() > IMPORT_ROWS_MAX {
        let detail = format!("{} rows; the limit is {IMPORT_ROWS_MAX} per request.", batch.rows.len());
        return Err(Problem::of_fields(Kind::INVALID_INPUT, vec![FieldError::new("rows", detail)]));
    }
    let checked: Vec<Result<ImportRow, String>> =
        batch.rows.iter().map(|row| row.check(app.service.rules(), host.as_str())).collect();
    let good = checked.iter().filter_map(|row| row.as_ref().ok().cloned()).collect();
    let written = app.service.import(good).await?;
    let outcomes = ImportOutcome::of_rows(&checked, &written.value);
    Ok((Extension(written.consistency), Extension(Changed), Json(ImportReport { outcomes })).into_response())
}

/// Export all links
///
/// One JSON object per line, in the order in which the links were stored. Not a snapshot: the export has every link that exists from its
/// beginning to its end, and some of those created or deleted meanwhile.
#[utoipa::path(
    get, path = "/api/export", tag = "transfer", params(ExportQuery),
    responses(
        (status = 200, description = "JSON lines, one link per line. A transfer without its last chunk is incomplete.",
            body = TransferRow, content_type = "application/jsonl"),
        ListProblems,
    )
)]
pub(super) async fn export(State(app): State<App>, Query(query): Query<ExportQuery>) -> Result<Response, Problem> {
    let has_clicks = query.clicks.unwrap_or(false);
    // The first rows are read before the head is sent, so that an unreachable database is still answered with a problem document.
    let first = chunk(&app.service, 0, has_clicks).await?;
    let chunks = stream::try_unfold(Some(first), move |state| {
        let service = app.service.clone();
        async move {
            let Some((lines, next)) = state else { return Ok::<_, ServiceError>(None) };
            let following = match next {
                Some(after) => Some(chunk(&service, after, has_clicks).await?),
                None => None,
            };
            Ok(Some((lines, following)))
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/jsonl"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// The next lines, and the row number after which to continue (`None` at the end).
async fn chunk(service: &Service, after: i64, has_clicks: bool) -> Result<(Bytes, Option<i64>), ServiceError> {
    let links = service.store().rows_after(after, EXPORT_ROWS).await?;
    let rows = match has_clicks {
        true => TransferRow::with_clicks(service.store(), links).await?,
        false => links.into_iter().map(|(number, link)| (number, link.into())).collect(),
    };
    let next = rows.last().map(|(number, _)| *number);
    let mut lines = Vec::with_capacity(rows.len() * 256);
    for (_, row) in rows {
        // A struct of text, numbers and flags always serializes.
        if serde_json::to_writer(&mut lines, &row).is_ok() {
            lines.push(b'\n');
        }
    }
    Ok((lines.into(), next))
}
