//! `/api/arrivals`.

use super::body::{ArrivalPage, ArrivalsQuery, CreateArrival, ReceivedBody, StrategyQuery, day, page};
use super::products::uncached;
use crate::http::App;
use crate::http::openapi::{ArrivalProblems, ListProblems, ProductProblems, WriteProblems};
use crate::service::NewArrival;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, JsonBody, Problem, Query};

/// Receive goods
///
/// Deliveries of a product on the same day are merged: the first one of a day creates an arrival (201), later ones add to it (200).
/// The stock changes in the same transaction and never exceeds its limit.
#[utoipa::path(
    post, path = "/api/arrivals", tag = "arrivals", params(StrategyQuery), request_body = CreateArrival,
    responses(
        (status = 201, description = "The first delivery of the day", body = ReceivedBody),
        (status = 200, description = "Added to the arrival of the day", body = ReceivedBody),
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
    let received = app.service.receive(&new, query.parsed()?).await?;
    let status = if received.deliveries == 1 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Extension(Changed), Json(ReceivedBody::new(received))).into_response())
}

/// List arrivals
///
/// Newest first, in pages; optionally by days and by product.
#[utoipa::path(
    get, path = "/api/arrivals", tag = "arrivals", params(ArrivalsQuery),
    responses((status = 200, description = "A page of arrivals", body = ArrivalPage), ProductProblems, ListProblems)
)]
pub(super) async fn list(State(app): State<App>, Query(query): Query<ArrivalsQuery>) -> Result<Response, Problem> {
    let request = page(query.page, query.per_page)?;
    let start = day("startDate", query.start_date.as_deref())?;
    let end = day("endDate", query.end_date.as_deref())?;
    let listed = app.service.arrivals(start, end, query.commodity_name.as_deref(), request).await?;
    Ok(uncached(ArrivalPage::new(listed, request)))
}
