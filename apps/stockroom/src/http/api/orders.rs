//! `/api/orders` and `/api/orders/{id}`.

use super::body::{CreateOrder, OrderBody, OrderChangeBody, StrategyQuery};
use super::products::uncached;
use crate::http::App;
use crate::http::openapi::{OrderProblems, ReleaseProblems, ReserveProblems, WriteProblems};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, JsonBody, Problem, Query};

/// Create an order
///
/// Reserves the goods, which leave the stock. An order that is not paid in time expires, and its goods return.
#[utoipa::path(
    post, path = "/api/orders", tag = "orders", params(StrategyQuery), request_body = CreateOrder,
    responses(
        (status = 201, description = "The goods are reserved", body = OrderChangeBody, headers(
            ("location" = String, description = "URL of the new order"))),
        ReserveProblems,
        WriteProblems,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Query(query): Query<StrategyQuery>,
    JsonBody(body): JsonBody<CreateOrder>,
) -> Result<Response, Problem> {
    let created = app.service.reserve(&body.commodity_name, body.quantity, query.parsed()?).await?;
    let location = HeaderValue::try_from(format!("/api/orders/{}", created.order.id)).ok();
    let headers = location.map(|location| [(header::LOCATION, location)]);
    Ok((StatusCode::CREATED, headers, Extension(Changed), Json(OrderChangeBody::new(created))).into_response())
}

/// Read an order
#[utoipa::path(
    get, path = "/api/orders/{id}", tag = "orders", params(("id" = String, Path, description = "Id of the order")),
    responses((status = 200, description = "The order", body = OrderBody), OrderProblems)
)]
pub(super) async fn read(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(uncached(OrderBody::new(app.service.order(&id).await?)))
}

/// Release an order
///
/// Returns its goods to the stock, unless that would exceed the limit. Succeeds without a change if the order is already released or
/// has expired. A paid order cannot be released.
#[utoipa::path(
    post, path = "/api/orders/{id}/release", tag = "orders",
    params(("id" = String, Path, description = "Id of the order"), StrategyQuery),
    responses((status = 200, description = "The goods are back in stock", body = OrderChangeBody), ReleaseProblems)
)]
pub(super) async fn release(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<StrategyQuery>,
) -> Result<Response, Problem> {
    let released = app.service.release(&id, query.parsed()?).await?;
    Ok((Extension(Changed), Json(OrderChangeBody::new(released))).into_response())
}
