//! The jobs, dead letters and other things that the pages show.

use super::{OTHER_TOPICS, Size, TOPIC};
use anyhow::{Context, Result};
use evenkeel::Keel;
use evenkeel::codec::Json;
use evenkeel::queue::{Delivery, Handled, Queue};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Shards of the topic with all the jobs.
const SHARDS: u16 = 4;
/// Jobs of one call, and calls at once.
const BULK: usize = 500;
const SENDERS: usize = 4;
/// Handlers at once, which fail.
const CONCURRENCY: usize = 200;
/// When half of the jobs are due.
const TOMORROW: Duration = Duration::from_secs(24 * 3600);
/// What dead letters died of.
const ERRORS: [&str; 3] = ["smtp refused 550", "no such user", "template is missing"];

pub(super) async fn fill(url: &str, size: Size) -> Result<()> {
    let keel = Keel::connect(url).await?;
    let mail = keel.queue::<Value>(TOPIC).codec(Json).shards(SHARDS).retries(0).open().await?;
    enqueue(&mail, size.dead, false).await?;
    kill(&mail, size.dead).await?;
    enqueue(&mail, size.jobs, true).await?;
    for number in 0..OTHER_TOPICS {
        let other = keel.queue::<Value>(&format!("topic-{number}")).open().await?;
        enqueue(&other, BULK, true).await?;
    }
    let users = keel.cache::<u64, Value>("user").ttl(TOMORROW).open().await?;
    users.get(&42, |_| async { Ok::<_, Infallible>(Some(json!({ "name": "ada" }))) }).await?;
    let orders = keel.stream::<Value>("orders").partitions(2).open().await?;
    orders.append(&"42", &json!({ "order": 42 })).await?;
    Ok(())
}

/// Adds so many jobs. Half of them are due tomorrow, if they are to wait.
async fn enqueue(queue: &Queue<Value>, jobs: usize, waits: bool) -> Result<()> {
    let mut calls = JoinSet::new();
    for first in (0..jobs).step_by(BULK) {
        if calls.len() == SENDERS {
            calls.join_next().await.context("some are on their way")???;
        }
        let (queue, numbers) = (queue.clone(), first..jobs.min(first + BULK));
        calls.spawn(async move {
            let bodies: Vec<Value> = numbers.clone().map(body).collect();
            let order = |(number, body): (usize, _)| match waits && number.is_multiple_of(2) {
                true => queue.job(body).delay(TOMORROW),
                false => queue.job(body),
            };
            queue.enqueue_all(numbers.zip(&bodies).map(order)).await?;
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}

fn body(number: usize) -> Value {
    json!({ "user": number, "template": "welcome", "to": format!("user-{number}@example.org"), "locale": "en" })
}

/// Lets so many jobs die.
async fn kill(queue: &Queue<Value>, jobs: usize) -> Result<()> {
    let (died, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let done = Arc::clone(&all);
    let consumer = queue.consume(move |_: Delivery<Value>| {
        let number = died.fetch_add(1, Ordering::Relaxed);
        if number + 1 == jobs {
            done.notify_one();
        }
        std::future::ready(Err::<Handled, _>(ERRORS[number % ERRORS.len()]))
    });
    consumer.concurrency(CONCURRENCY).run(all.notified()).await?;
    Ok(())
}
