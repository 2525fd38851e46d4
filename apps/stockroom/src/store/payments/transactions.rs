//! The two transactions of a payment: its request, and the gateway's answer.

use super::{PAYMENT, PayError, Payment, PaymentState, read_payment, record_event};
use crate::domain::{IdempotencyKey, PaymentRequested, TestCard};
use crate::store::OrderState;
use crate::store::database::{Dialect, Pools};
use evenkeel::Keel;
use evenkeel::sql::SqlError;
use evenkeel::stream::Stream;
use web::guard;

/// A request to pay an order.
#[derive(Clone, Copy)]
pub(crate) struct PayRequest<'a> {
    pub(crate) order: &'a str,
    pub(crate) key: &'a IdempotencyKey,
    pub(crate) card: TestCard,
    /// Id of the payment, if it is a new one.
    pub(crate) payment: &'a str,
    pub(crate) now_ms: i64,
}

/// Begins a payment and appends it to the stream, or returns the payment that has the key. The lock on the order serializes requests with
/// the same key, and its state decides against a time-out, a release and other payments.
pub(super) async fn request<DB: Dialect>(
    pools: &Pools<DB>,
    keel: &Keel,
    stream: &Stream<PaymentRequested>,
    request: &PayRequest<'_>,
) -> Result<Payment, PayError> {
    let PayRequest { order, key, card, payment, now_ms } = *request;
    let mut work = keel.begin_with(&pools.writer, DB::BEGIN_WRITE).await?;
    let lock = "SELECT commodity_id, state, pay_by FROM orders WHERE id = ?{for_update}";
    let row = DB::fetch_first(work.tx(), lock, &[order.into()]).await?.ok_or(PayError::UnknownOrder)?;
    let (commodity, state, pay_by) = (DB::int_at(&row, 0)?, DB::text_at(&row, 1)?, DB::optional_int_at(&row, 2)?);
    let state = OrderState::parse(&state).map_err(PayError::Store)?;
    let known = format!("{PAYMENT} WHERE p.order_id = ? AND p.idempotency_key = ?");
    let known_row = DB::fetch_first(work.tx(), &known, &[order.into(), key.as_str().into()]).await?;
    if let Some(row) = known_row.filter(|_| guard("payment_key_once")) {
        let known = read_payment::<DB>(&row).map_err(PayError::Store)?;
        return if known.card == card || !guard("payment_key_card") { Ok(known) } else { Err(PayError::KeyReused) };
    }
    match state {
        OrderState::Reserved if pay_by.is_none_or(|pay_by| now_ms < pay_by) => {}
        OrderState::Paying if !guard("payment_one_at_a_time") => {}
        OrderState::Paying => return Err(PayError::InProgress),
        OrderState::Paid => return Err(PayError::AlreadyPaid),
        OrderState::Reserved | OrderState::Released | OrderState::Expired => return Err(PayError::Closed),
    }
    let insert = "INSERT INTO payments (id, order_id, idempotency_key, card, state, created_at, updated_at) \
         VALUES (?, ?, ?, ?, 'pending', ?, ?)";
    let values = [payment.into(), order.into(), key.as_str().into(), card.name().into(), now_ms.into(), now_ms.into()];
    DB::send(work.tx(), insert, &values).await?;
    let update = "UPDATE orders SET state = 'paying', updated_at = ? WHERE id = ?";
    DB::send(work.tx(), update, &[now_ms.into(), order.into()]).await?;
    record_event::<DB>(work.tx(), order, "paying", &format!("card {card}"), now_ms).await?;
    let value = PaymentRequested { payment: payment.to_owned() };
    work.append(stream.entry(PaymentRequested::key(commodity), &value))?;
    work.commit().await?;
    Ok(Payment {
        id: payment.to_owned(),
        order: order.to_owned(),
        commodity,
        card,
        state: PaymentState::Pending,
        created_at: now_ms,
        updated_at: now_ms,
    })
}

/// Records an answer of the gateway. Only the first one finds the payment pending: neither a second answer nor a process that was stopped
/// for a while changes anything, so no fencing token is needed here.
pub(super) async fn answer<DB: Dialect>(
    pools: &Pools<DB>,
    keel: &Keel,
    payment: &str,
    approved: bool,
    now_ms: i64,
) -> Result<bool, SqlError> {
    let mut work = keel.begin_with(&pools.writer, DB::BEGIN_WRITE).await?;
    let (outcome, next) = if approved { ("paid", "paid") } else { ("declined", "reserved") };
    let mut update = "UPDATE payments SET state = ?, updated_at = ? WHERE id = ? AND state = 'pending'";
    if !guard("payment_first_answer") {
        update = "UPDATE payments SET state = ?, updated_at = ? WHERE id = ?";
    }
    if DB::send(work.tx(), update, &[outcome.into(), now_ms.into(), payment.into()]).await? == 0 {
        return Ok(false);
    }
    let row = DB::fetch_first(work.tx(), "SELECT order_id FROM payments WHERE id = ?", &[payment.into()]).await?;
    let order = DB::text_at(&row.ok_or(sqlx::Error::RowNotFound)?, 0)?;
    let update = "UPDATE orders SET state = ?, updated_at = ? WHERE id = ? AND state = 'paying'";
    DB::send(work.tx(), update, &[next.into(), now_ms.into(), order.as_str().into()]).await?;
    record_event::<DB>(work.tx(), &order, outcome, "", now_ms).await?;
    work.commit().await?;
    Ok(true)
}
