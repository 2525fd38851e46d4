//! Payments and the life of an order.
//!
//! The row of the order decides every race. A request to pay locks it, reads its state and writes `paying`; a release and a time-out end it
//! by an update whose condition is the state `reserved`; an answer of the gateway is recorded by the transaction that finds its payment
//! `pending`.

mod gateway;
mod search;
mod transactions;

pub(crate) use gateway::Charge;
pub(crate) use search::{Overdue, SEARCH_MAX};
pub(crate) use transactions::PayRequest;

use super::database::{Dialect, Pools};
use super::{Store, StoreError, reader, with_pools};
use crate::domain::{PaymentRequested, TestCard};
use evenkeel::Keel;
use evenkeel::sql::{Conflict, ConflictError, ConflictPolicy, Contended, SqlError};
use evenkeel::stream::Stream;

const PAYMENT: &str = "SELECT p.id, p.order_id, p.card, p.state, p.created_at, p.updated_at, o.commodity_id \
     FROM payments p JOIN orders o ON o.id = p.order_id";

/// A payment of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Id, by which the gateway knows it.
    pub id: String,
    /// The order.
    pub order: String,
    /// Number of the product.
    pub commodity: i64,
    /// The card.
    pub card: TestCard,
    /// State.
    pub state: PaymentState,
    /// Time of the request, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last change of state, in milliseconds since 1970.
    pub updated_at: i64,
}

/// The state of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentState {
    /// The gateway has not answered.
    Pending,
    /// The gateway has approved it.
    Paid,
    /// The gateway has declined it.
    Declined,
}

impl PaymentState {
    const ALL: [Self; 3] = [Self::Pending, Self::Paid, Self::Declined];

    /// The state in the database and in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Paid => "paid",
            Self::Declined => "declined",
        }
    }
}

/// An event in the history of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderEvent {
    /// Kind of the event: `reserved`, `paying`, `gateway`, `paid`, `declined`, `released` or `expired`.
    pub kind: String,
    /// Details; may be empty.
    pub detail: String,
    /// Time of the event, in milliseconds since 1970.
    pub happened_at: i64,
}

/// Why a payment was not begun.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayError {
    /// No order has this id.
    #[error("the order does not exist")]
    UnknownOrder,
    /// The key belongs to a payment of this order with another card.
    #[error("the idempotency key belongs to another payment of this order")]
    KeyReused,
    /// Another payment of the order waits for the gateway.
    #[error("another payment of the order is in progress")]
    InProgress,
    /// The order is paid.
    #[error("the order is paid")]
    AlreadyPaid,
    /// The order is released or has expired.
    #[error("the order is released or has expired")]
    Closed,
    /// The database failed, or Redis, which has the stream.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The database contains an invalid value.
    #[error(transparent)]
    Store(StoreError),
}

impl From<sqlx::Error> for PayError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error.into())
    }
}

impl Contended for PayError {
    fn conflict(&self) -> Option<Conflict> {
        if let Self::Sql(error) = self { error.conflict() } else { None }
    }
}

impl Store {
    /// Begins a payment, and appends it to `stream` in the same transaction; returns the existing one if the request was sent before.
    pub(crate) async fn request_payment(
        &self,
        keel: &Keel,
        stream: &Stream<PaymentRequested>,
        request: &PayRequest<'_>,
    ) -> Result<Payment, PayError> {
        let policy = ConflictPolicy::default();
        let begun = with_pools!(self, pools => {
            keel.retry_on_conflict(&policy, || transactions::request(pools, keel, stream, request)).await
        });
        begun.map_err(ConflictError::into_inner)
    }

    /// Records the gateway's answer. Returns whether it is the first one.
    pub(crate) async fn record_answer(&self, keel: &Keel, payment: &str, approved: bool) -> Result<bool, StoreError> {
        let (policy, now_ms) = (ConflictPolicy::default(), self.signed_now_ms());
        let recorded = with_pools!(self, pools => {
            keel.retry_on_conflict(&policy, || transactions::answer(pools, keel, payment, approved, now_ms)).await
        });
        Ok(recorded.map_err(ConflictError::into_inner)?)
    }

    /// Asks the test gateway for a charge.
    pub(crate) async fn charge(&self, payment: &Payment) -> Result<Charge, StoreError> {
        with_pools!(self, pools => gateway::charge(pools, &payment.id, payment.card).await)
    }

    /// Adds an event to the life of an order.
    pub(crate) async fn note(&self, order: &str, kind: &str, detail: &str) -> Result<(), StoreError> {
        let now_ms = self.signed_now_ms();
        with_pools!(self, pools => note(pools, order, kind, detail, now_ms).await)
    }

    /// The payment with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn payment(&self, id: &str) -> Result<Option<Payment>, StoreError> {
        with_pools!(self, pools => {
            let sql = format!("{PAYMENT} WHERE p.id = ?");
            Ok(payments(pools, &sql, &[id.into()]).await?.pop())
        })
    }

    /// The events of an order, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn events(&self, order: &str) -> Result<Vec<OrderEvent>, StoreError> {
        with_pools!(self, pools => events(pools, order).await)
    }
}

/// Adds an event within a transaction.
pub(crate) async fn record_event<DB: Dialect>(
    connection: &mut DB::Connection,
    order: &str,
    kind: &str,
    detail: &str,
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO order_events (order_id, kind, detail, happened_at) VALUES (?, ?, ?, ?)";
    DB::send(connection, sql, &[order.into(), kind.into(), detail.into(), now_ms.into()]).await?;
    Ok(())
}

async fn note<DB: Dialect>(
    pools: &Pools<DB>,
    order: &str,
    kind: &str,
    detail: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    Ok(record_event::<DB>(&mut *pools.writer.acquire().await?, order, kind, detail, now_ms).await?)
}

async fn payments<DB: Dialect>(
    pools: &Pools<DB>,
    sql: &str,
    values: &[web::sql::Value],
) -> Result<Vec<Payment>, StoreError> {
    let rows = DB::fetch(&mut *reader(pools).await?, sql, values).await?;
    rows.iter().map(read_payment::<DB>).collect()
}

async fn events<DB: Dialect>(pools: &Pools<DB>, order: &str) -> Result<Vec<OrderEvent>, StoreError> {
    let sql = "SELECT kind, detail, happened_at FROM order_events WHERE order_id = ? ORDER BY id";
    let rows = DB::fetch(&mut *reader(pools).await?, sql, &[order.into()]).await?;
    let event = |row: &DB::Row| {
        let (kind, detail) = (DB::text_at(row, 0)?, DB::text_at(row, 1)?);
        Ok(OrderEvent { kind, detail, happened_at: DB::int_at(row, 2)? })
    };
    rows.iter().map(event).collect()
}

fn read_payment<DB: Dialect>(row: &DB::Row) -> Result<Payment, StoreError> {
    let (card, state) = (DB::text_at(row, 2)?, DB::text_at(row, 3)?);
    let corrupt = |what: &str| StoreError::Corrupt(format!("{what} of a payment"));
    Ok(Payment {
        id: DB::text_at(row, 0)?,
        order: DB::text_at(row, 1)?,
        card: card.parse().map_err(|_| corrupt("card"))?,
        state: PaymentState::ALL.into_iter().find(|known| known.as_str() == state).ok_or_else(|| corrupt("state"))?,
        created_at: DB::int_at(row, 4)?,
        updated_at: DB::int_at(row, 5)?,
        commodity: DB::int_at(row, 6)?,
    })
}
