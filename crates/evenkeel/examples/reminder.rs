//! A reminder whose time changes: it is moved and edited while it waits, and runs once, at its last time.
//!
//! `cargo run -p evenkeel --features queue --example reminder`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::queue::{Delivery, Queue};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let reminders: Queue<String> = keel.queue("example-reminder").open().await?;

    let id = reminders.delay(7 * DAY, &"call Ada in a week".to_owned()).await?;
    println!("moved to tomorrow: {:?}", reminders.reschedule_in(&id, DAY).await?);
    println!("new text: {:?}", reminders.edit(&id, &"call Ada now".to_owned()).await?);
    println!("moved to now: {:?}", reminders.reschedule_in(&id, Duration::from_millis(50)).await?);

    let done = Arc::new(Notify::new());
    let notify = Arc::clone(&done);
    let consumer = reminders.consume(move |job: Delivery<String>| {
        let notify = Arc::clone(&notify);
        async move {
            println!("reminder: {} (attempt {})", job.body, job.attempt);
            notify.notify_one();
            Ok::<_, Infallible>(())
        }
    });
    consumer.run(done.notified()).await?;

    println!("moved once more: {:?}", reminders.reschedule_in(&id, DAY).await?);
    Ok(())
}
