//! The stream of what happens to orders, and its groups: one keeps up, one has a member that fails, and one is paused.

use super::shop::Shop;
use anyhow::Result;
use evenkeel::stream::{Entry, Handled, OnFailure, RetryDelay};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use web::stopping;

const EVENT_EVERY: Duration = Duration::from_millis(100);
/// What happens to each order, in this order.
const STATES: [&str; 3] = ["placed", "paid", "shipped"];
/// Of the orders, every one with this remainder has a card that is declined.
const DECLINED: (u64, u64) = (200, 17);
/// Payments that succeed only with the second attempt.
const SLOW_BANK: u64 = 20;

/// An event of an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Event {
    order: u64,
    state: String,
    card: String,
}

/// Appends an event every 100 ms.
pub(super) async fn append(shop: Arc<Shop>) -> Result<()> {
    for number in 0_u64.. {
        let (order, state) = (number / 3, STATES[usize::try_from(number % 3)?]);
        let event = Event { order, state: state.to_owned(), card: format!("4111 1111 1111 {:04}", order % 10_000) };
        shop.events.append(format!("order/{order}"), &event).await?;
        shop.clock.sleep(EVENT_EVERY).await;
    }
    Ok(())
}

/// Consumes as three groups. `analytics` is paused as soon as it exists: its lag grows until an operator resumes it.
pub(super) async fn handle(shop: Arc<Shop>, stopped: watch::Receiver<bool>) -> Result<()> {
    let billing = shop.events.group("billing").per_key(OnFailure::BlockKey).retries(1);
    let billing = billing.retry_delay(RetryDelay::fixed(Duration::from_secs(2))).handle(charge);
    let shipping = shop.events.group("shipping").per_key(OnFailure::BlockKey);
    let shipping = shipping.handle(|_: Entry<Event>| async { Ok::<_, String>(()) });
    let analytics = shop.events.group("analytics").unordered().handle(|_: Entry<Event>| async { Ok::<_, String>(()) });
    let admin = shop.events.admin();
    let pause = async {
        // Until its consumer has created it.
        while admin.pause("analytics", None).await.is_err() {
            shop.clock.sleep(EVENT_EVERY).await;
        }
        Ok(())
    };
    let drain = Duration::from_millis(200);
    tokio::try_join!(
        billing.drain(drain).run(stopping(&stopped)),
        shipping.drain(drain).run(stopping(&stopped)),
        analytics.drain(drain).run(stopping(&stopped)),
        pause,
    )?;
    Ok(())
}

/// Charges a card: most payments succeed, some with the second attempt, and a few never.
async fn charge(event: Entry<Event>) -> Result<Handled, String> {
    let Event { order, state, .. } = &event.value;
    if state != "paid" {
        return Ok(Handled::Done);
    }
    if order % DECLINED.0 == DECLINED.1 {
        return Ok(Handled::Dead(format!("the bank declined the card of order {order}")));
    }
    if order.is_multiple_of(SLOW_BANK) && event.attempt == 1 {
        return Err("no answer from the bank within 5 s".to_owned());
    }
    Ok(Handled::Done)
}
