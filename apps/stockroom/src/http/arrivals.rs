//! `/api/arrivals`.

use super::app::App;
use super::body::{ArrivalPage, ArrivalsQuery, ArrivedBody, CreateArrival, StrategyQuery, day, page};
use super::openapi::{ArrivalProblems, ListProblems, ProductProblems, WriteProblems};
use super::products::fresh;
use crate::service::NewArrival;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, JsonBody, Problem, Query};

/// Receive goods
///
/// What arrived of a product on one day is one row: the first arrival makes it (201), later ones of the same day add to it (200). The
/// stock grows in the same transaction, and never above its cap.
#[utoipa::path(
    post, path = "/api/arrivals", tag = "arrivals", params(StrategyQuery), request_body = CreateArrival,
    responses(
        (status = 201, description = "The first arrival of its day", body = ArrivedBody),
        (status = 200, description = "Added to the arrivals of its day", body = ArrivedBody),
        ArrivalProblems,
        ProductProblems,
        WriteProblems,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Query(query): Query<StrategyQuery>,
    JsonBody(body): JsonBody<CreateArrival>,
) -> Result<Response, Problem> {
    let day = day("day", body.day.as_deref())?;
    let new = NewArrival { commodity_name: body.commodity_name, quantity: body.quantity, day };
    let arrived = app.service.arrive(&new, query.wanted()?).await?;
    let status = if arrived.deliveries == 1 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Extension(Changed), Json(ArrivedBody::new(arrived))).into_response())
}

/// List arrivals
///
/// Newest first, in numbered pages; by days and by product.
#[utoipa::path(
    get, path = "/api/arrivals", tag = "arrivals", params(ArrivalsQuery),
    responses((status = 200, description = "A page of arrivals", body = ArrivalPage), ProductProblems, ListProblems)
)]
pub(super) async fn list(State(app): State<App>, Query(query): Query<ArrivalsQuery>) -> Result<Response, Problem> {
    let request = page(query.page, query.per_page)?;
    let start = day("startDate", query.start_date.as_deref())?;
    let end = day("endDate", query.end_date.as_deref())?;
    let listed = app.service.arrivals(start, end, query.commodity_name.as_deref(), request).await?;
    Ok(fresh(ArrivalPage::new(listed, request)))
}
