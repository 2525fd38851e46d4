//! Orders that are canceled without a payment in time: the payment revokes the timeout, and the result says which came
//! first.
//!
//! `cargo run -p evenkeel --features queue --example order_timeout`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::queue::Revoked;
use evenkeel::queue::{Delivery, JobId, Queue};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const TIME_TO_PAY: Duration = Duration::from_millis(100);

/// Takes an order. A repeated request finds the timeout of the first.
async fn order(timeouts: &Queue<u32>, number: u32) -> Result<(), evenkeel::queue::QueueError> {
    let sent = timeouts.job(&number).id(name(number)).delay(TIME_TO_PAY).enqueue().await?;
    println!("order {number}: {:?}", sent.answer);
    Ok(())
}

/// Takes a payment.
async fn pay(timeouts: &Queue<u32>, number: u32) -> Result<(), evenkeel::queue::QueueError> {
    match timeouts.revoke(&JobId::named(name(number).as_bytes())).await? {
        Revoked::Revoked => println!("order {number} is paid"),
        too_late => println!("order {number} was canceled, the payment is refunded ({too_late:?})"),
    }
    Ok(())
}

fn name(number: u32) -> String {
    format!("order/{}/{number}", std::process::id())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let timeouts: Queue<u32> = keel.queue("example-order-timeout").open().await?;

    order(&timeouts, 1).await?;
    order(&timeouts, 1).await?;
    order(&timeouts, 2).await?;
    pay(&timeouts, 1).await?;

    let cancelled = Arc::new(Notify::new());
    let notify = Arc::clone(&cancelled);
    let consumer = timeouts.consume(move |job: Delivery<u32>| {
        let notify = Arc::clone(&notify);
        async move {
            println!("order {} is canceled, not paid in time", job.body);
            notify.notify_one();
            Ok::<_, Infallible>(())
        }
    });
    consumer.run(cancelled.notified()).await?;

    pay(&timeouts, 2).await?;
    Ok(())
}
