//! `/api/import` and `/api/export`: many links at once, for `shortlink import|export --server`.

use super::app::App;
use super::openapi::{DatabaseProblems, WriteProblems};
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
use web::{Changed, FieldError, Host, JsonBody, Kind, Problem};

/// Rows in one request. One transaction holds them all, and others wait for it.
pub const IMPORT_ROWS_MAX: usize = 500;

/// Rows that an export reads at a time.
const EXPORT_ROWS: u32 = 500;

/// Rows to be taken.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBatch {
    /// At most 500.
    #[schema(max_items = 500)]
    pub rows: Vec<TransferRow>,
}

/// What became of the rows.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportReport {
    /// One for each row, in their order.
    pub outcomes: Vec<ImportOutcome>,
}

/// What became of one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ImportOutcome {
    /// A new link.
    Created {
        /// Its code.
        code: String,
    },
    /// The link was there already; nothing was changed.
    Present,
    /// The code leads elsewhere already; nothing was changed.
    Taken {
        /// The code.
        code: String,
    },
    /// The row cannot be a link.
    Refused {
        /// Why.
        detail: String,
    },
}

/// Take many links
///
/// All that can be taken, in one transaction. Repeating a request changes nothing: a row is there already if its code, else its
/// target, is.
#[utoipa::path(
    post, path = "/api/import", tag = "transfer", request_body = ImportBatch,
    responses(
        (status = 200, description = "What became of each row", body = ImportReport, headers(
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
        let detail = format!("At most {IMPORT_ROWS_MAX} rows are taken at once, these are {}.", batch.rows.len());
        return Err(Problem::of_fields(Kind::INVALID_INPUT, vec![FieldError::new("rows", detail)]));
    }
    let checked: Vec<Result<ImportRow, String>> =
        batch.rows.iter().map(|row| row.check(app.service.rules(), host.as_str())).collect();
    let good = checked.iter().filter_map(|row| row.as_ref().ok().cloned()).collect();
    let written = app.service.import(good).await?;
    let consistency = written.consistency;
    let mut taken = written.value.into_iter();
    let outcomes = checked
        .into_iter()
        .filter_map(|row| match row {
            Ok(_) => taken.next().map(outcome),
            Err(detail) => Some(ImportOutcome::Refused { detail }),
        })
        .collect();
    Ok((Extension(consistency), Extension(Changed), Json(ImportReport { outcomes })).into_response())
}

/// Give all links
///
/// One JSON object a line, in the order they were stored. Not a snapshot: every link that was there at the beginning and is not
/// deleted meanwhile is given; of those made meanwhile, some.
#[utoipa::path(
    get, path = "/api/export", tag = "transfer",
    responses(
        (status = 200, description = "JSON lines, one link each. A transfer that ends without its last chunk is not complete.",
            body = TransferRow, content_type = "application/jsonl"),
        DatabaseProblems,
    )
)]
pub(super) async fn export(State(app): State<App>) -> Result<Response, Problem> {
    // The first rows are read before the head is sent, so that a database that is away is still told as a problem.
    let first = chunk(&app.service, 0).await?;
    let chunks = stream::try_unfold(Some(first), move |state| {
        let service = app.service.clone();
        async move {
            let Some((lines, next)) = state else { return Ok::<_, ServiceError>(None) };
            let following = match next {
                Some(after) => Some(chunk(&service, after).await?),
                None => None,
            };
            Ok(Some((lines, following)))
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/jsonl"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// Some lines, and the row after which the next ones begin (`None`: these were the last).
async fn chunk(service: &Service, after: i64) -> Result<(Bytes, Option<i64>), ServiceError> {
    let rows = service.store().rows_after(after, EXPORT_ROWS).await?;
    let next = rows.last().map(|(number, _)| *number);
    let mut lines = Vec::with_capacity(rows.len() * 256);
    for (_, link) in rows {
        // A row has no key that is not text, so it can always be written.
        if serde_json::to_writer(&mut lines, &TransferRow::from(link)).is_ok() {
            lines.push(b'\n');
        }
    }
    Ok((lines.into(), next))
}

fn outcome(row: RowOutcome) -> ImportOutcome {
    match row {
        RowOutcome::Created(code) => ImportOutcome::Created { code: code.to_string() },
        RowOutcome::Present => ImportOutcome::Present,
        RowOutcome::Taken(code) => ImportOutcome::Taken { code: code.to_string() },
    }
}
