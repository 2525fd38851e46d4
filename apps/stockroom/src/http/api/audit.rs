//! `/api/audit`.

use super::body::AuditQuery;
use super::products::uncached;
use crate::http::App;
use crate::http::openapi::ProductProblems;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use web::{Problem, Query};

/// Result of an audit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditBody {
    /// Quantity in stock.
    #[schema(example = 240)]
    quantity: i64,
    /// Number of ledger entries that were checked.
    #[schema(example = 2)]
    movements: i64,
    /// Inconsistencies; empty if there are none.
    violations: Vec<String>,
}

/// Audit a product
///
/// Compares the stock with the ledger and with arrivals minus reserved orders, and each movement with the previous one.
#[utoipa::path(
    get, path = "/api/audit", tag = "operations", params(AuditQuery),
    responses((status = 200, description = "Result of the audit", body = AuditBody), ProductProblems)
)]
pub(super) async fn audit(State(app): State<App>, Query(query): Query<AuditQuery>) -> Result<Response, Problem> {
    let audit = app.service.audit(&query.commodity_name).await?;
    Ok(uncached(AuditBody {
        quantity: audit.quantity,
        movements: audit.movements,
        violations: audit.violations.iter().map(ToString::to_string).collect(),
    }))
}
