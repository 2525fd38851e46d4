//! After a bug was fixed, its dead letters are redriven: first counted, then sent back, and only those.
//!
//! `cargo run -p evenkeel --features queue --example redrive`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::queue::topic::{Filter, JobState};
use evenkeel::queue::{Delivery, Queue, QueueError};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What a program makes of an order.
type Price = fn(&str) -> Result<u32, String>;

/// Cannot read a number with a thousands separator: the bug.
fn before_the_fix(order: &str) -> Result<u32, String> {
    order.parse().map_err(|_| format!("no number: {order}"))
}

fn after_the_fix(order: &str) -> Result<u32, String> {
    before_the_fix(&order.replace(',', ""))
}

/// Consumes until `jobs` have been tried.
async fn consume(orders: &Queue<String>, price: Price, jobs: u32) -> Result<(), QueueError> {
    let tried = Arc::new(Semaphore::new(0));
    let counted = Arc::clone(&tried);
    let consumer = orders.consume(move |job: Delivery<String>| {
        let counted = Arc::clone(&counted);
        async move {
            let priced = price(&job.body).map(|price| println!("{} costs {price}", job.body));
            counted.add_permits(1);
            priced
        }
    });
    let all = async {
        let _ = tried.acquire_many(jobs).await;
    };
    consumer.concurrency(1).run(all).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let orders: Queue<String> = keel.queue("example-redrive").retries(0).open().await?;
    for order in ["12", "1,200", "none", "3,400"] {
        orders.now(&order.to_owned()).await?;
    }
    consume(&orders, before_the_fix, 4).await?;
    let topic = orders.topic();
    println!("{} dead letters", topic.stats().await?.total.dead);

    // The redrive has a name: a call with the same name continues where this one stopped, and sends nothing back twice.
    let fixed = format!("thousands separators, {}", topic.now_ms());
    let separators = Filter { body_contains: Some(",".to_owned()), ..Filter::default() };
    let redrive = topic.redrive(&fixed).filter(separators);
    println!("{} of them would go back", redrive.dry_run().await?.matching);
    println!("{} sent back", redrive.run().await?.taken);
    consume(&orders, after_the_fix, 2).await?;
    println!("{} sent back by the same redrive again", redrive.run().await?.taken);

    let left = topic.list(JobState::Dead, None, 10).await?;
    println!("{} dead letter left, deleted by hand", left.len());
    topic.delete_dead(&left.iter().map(|letter| letter.id).collect::<Vec<_>>()).await?;
    Ok(())
}
