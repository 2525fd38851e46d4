//! `/api/orders` and what is below it.

use super::app::App;
use super::body::{CreateOrder, OrderBody, OrderedBody, StrategyQuery};
use super::openapi::{OrderProblems, ReleaseProblems, ReserveProblems, WriteProblems};
use super::products::fresh;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, JsonBody, Problem, Query};

/// Make an order
///
/// It takes its goods aside: they are not in stock any more.
#[utoipa::path(
    post, path = "/api/orders", tag = "orders", params(StrategyQuery), request_body = CreateOrder,
    responses(
        (status = 201, description = "The goods are taken aside", body = OrderedBody, headers(
            ("location" = String, description = "Where the order can be read"))),
        ReserveProblems,
        WriteProblems,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Query(query): Query<StrategyQuery>,
    JsonBody(body): JsonBody<CreateOrder>,
) -> Result<Response, Problem> {
    let ordered = app.service.reserve(&body.commodity_name, body.quantity, query.wanted()?).await?;
    let location = HeaderValue::try_from(format!("/api/orders/{}", ordered.order.id)).ok();
    let headers = location.map(|location| [(header::LOCATION, location)]);
    Ok((StatusCode::CREATED, headers, Extension(Changed), Json(OrderedBody::new(ordered))).into_response())
}

/// Read an order
#[utoipa::path(
    get, path = "/api/orders/{id}", tag = "orders", params(("id" = String, Path, description = "The order's id")),
    responses((status = 200, description = "The order", body = OrderBody), OrderProblems)
)]
pub(super) async fn read(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(fresh(OrderBody::new(app.service.order(&id).await?)))
}

/// Release an order
///
/// Its goods are in stock again, if there is room. Releasing it once more changes nothing.
#[utoipa::path(
    post, path = "/api/orders/{id}/release", tag = "orders",
    params(("id" = String, Path, description = "The order's id"), StrategyQuery),
    responses((status = 200, description = "The goods are in stock", body = OrderedBody), ReleaseProblems)
)]
pub(super) async fn release(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<StrategyQuery>,
) -> Result<Response, Problem> {
    let ordered = app.service.release(&id, query.wanted()?).await?;
    Ok((Extension(Changed), Json(OrderedBody::new(ordered))).into_response())
}
