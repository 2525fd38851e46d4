//! `/api/orders/{id}/pay`, `/api/orders/{id}/events` and `/api/payments/{id}`.

use super::products::uncached;
use crate::domain::{IdempotencyKey, TestCard};
use crate::http::App;
use crate::http::openapi::{OrderProblems, PayProblems, PaymentProblems, WriteProblems};
use crate::store::{OrderEvent, Payment, PaymentState};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{Changed, JsonBody, Kind, Problem, sentence, timestamp};

/// The header with the client's key.
const KEY: &str = "idempotency-key";

/// How to pay an order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PayOrder {
    /// A card of the test gateway: `approved`, `declined`, `fails-once`, `hangs-once` or `answers-twice`.
    #[schema(example = "approved")]
    card: String,
}

/// A payment of an order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PaymentBody {
    /// Id.
    #[schema(example = "019a8f0e-7c1b-7d3a-9c55-0f6a2b1c4d5e")]
    id: String,
    /// Id of the order.
    #[schema(example = "019a8f0e-7c1b-7d3a-9c55-0f6a2b1c4d5e")]
    order_id: String,
    /// Card.
    #[schema(example = "approved")]
    card: &'static str,
    /// `pending` until the gateway has answered, then `paid` or `declined`.
    #[schema(example = "pending")]
    state: &'static str,
    /// Time of the request.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    created_at: Timestamp,
    /// Time of the last change of state.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    updated_at: Timestamp,
}

/// The life of an order, oldest event first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventsBody {
    /// The events.
    events: Vec<EventBody>,
}

/// An event in the history of an order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventBody {
    /// `reserved`, `paying` (a payment waits for the gateway), `gateway` (it has not answered and is asked again), `paid`, `declined`,
    /// `released` or `expired`.
    #[schema(example = "paid")]
    kind: String,
    /// Details; may be empty.
    #[schema(example = "")]
    detail: String,
    /// Time of the event.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    happened_at: Timestamp,
}

/// Pay an order
///
/// Begins a payment; the test gateway answers later, and `GET /api/payments/{id}` has the result. A request that is sent again with the same
/// `Idempotency-Key` returns the same payment, so a client may repeat it until it gets a response. A declined payment leaves the order
/// unpaid: pay it again with another key.
#[utoipa::path(
    post, path = "/api/orders/{id}/pay", tag = "orders", request_body = PayOrder,
    params(
        ("id" = String, Path, description = "Id of the order"),
        ("idempotency-key" = String, Header, description = "1 to 100 visible ASCII characters, the same whenever this request is sent again"),
    ),
    responses(
        (status = 202, description = "The payment waits for the gateway", body = PaymentBody, headers(
            ("location" = String, description = "URL of the payment"))),
        (status = 200, description = "The payment was requested before, and the gateway has answered", body = PaymentBody),
        PayProblems,
        WriteProblems,
    )
)]
pub(super) async fn pay(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<PayOrder>,
) -> Result<Response, Problem> {
    let key = headers.get(KEY).and_then(|key| key.to_str().ok()).unwrap_or_default();
    let key =
        IdempotencyKey::parse(key).map_err(|error| Problem::of_field(Kind::INVALID_INPUT, KEY, sentence(&error)))?;
    let card = body.card.parse::<TestCard>();
    let card = card.map_err(|error| Problem::of_field(Kind::INVALID_INPUT, "card", sentence(&error)))?;
    let payment = app.service.pay(&id, &key, card).await?;
    let status = if payment.state == PaymentState::Pending { StatusCode::ACCEPTED } else { StatusCode::OK };
    let location = HeaderValue::try_from(format!("/api/payments/{}", payment.id)).ok();
    let headers = location.map(|location| [(header::LOCATION, location)]);
    Ok((status, headers, Extension(Changed), Json(PaymentBody::new(payment))).into_response())
}

/// Read a payment
#[utoipa::path(
    get, path = "/api/payments/{id}", tag = "orders", params(("id" = String, Path, description = "Id of the payment")),
    responses((status = 200, description = "The payment", body = PaymentBody), PaymentProblems)
)]
pub(super) async fn payment(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(uncached(PaymentBody::new(app.service.payment(&id).await?)))
}

/// Read the life of an order
#[utoipa::path(
    get, path = "/api/orders/{id}/events", tag = "orders", params(("id" = String, Path, description = "Id of the order")),
    responses((status = 200, description = "What has happened to the order", body = EventsBody), OrderProblems)
)]
pub(super) async fn events(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let events = app.service.events(&id).await?.into_iter().map(EventBody::from).collect();
    Ok(uncached(EventsBody { events }))
}

impl PaymentBody {
    fn new(payment: Payment) -> Self {
        Self {
            id: payment.id,
            order_id: payment.order,
            card: payment.card.name(),
            state: payment.state.as_str(),
            created_at: timestamp(payment.created_at),
            updated_at: timestamp(payment.updated_at),
        }
    }
}

impl From<OrderEvent> for EventBody {
    fn from(event: OrderEvent) -> Self {
        Self { kind: event.kind, detail: event.detail, happened_at: timestamp(event.happened_at) }
    }
}
