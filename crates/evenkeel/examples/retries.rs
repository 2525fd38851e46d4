//! A handler that fails: the kind of its error decides whether a job is retried, postponed, or given up.
//!
//! `cargo run -p evenkeel --features queue --example retries`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::queue::{Delivery, Queue, Reaction, RetryDelay};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

#[derive(Debug)]
enum Refusal {
    Busy,
    NoSuchMailbox,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the server is busy",
            Self::NoSuchMailbox => "no such mailbox",
        })
    }
}

/// Stands in for a mail server that is busy at first.
fn send(to: &str, attempt: u32) -> Result<(), Refusal> {
    match (to, attempt) {
        ("bob", _) => Err(Refusal::NoSuchMailbox),
        (_, 1 | 2) => Err(Refusal::Busy),
        _ => Ok(()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let delay = RetryDelay::fixed(Duration::from_millis(20));
    let mail: Queue<String> = keel.queue("example-retries").retries(3).retry_delay(delay).open().await?;
    mail.now(&"ada".to_owned()).await?;

    // One permit for each attempt: three for ada, one for an unknown user.
    let attempts = Arc::new(Semaphore::new(0));
    let counted = Arc::clone(&attempts);
    let queue = mail.clone();
    let consumer = mail.consume(move |job: Delivery<String>| {
        let (counted, queue) = (Arc::clone(&counted), queue.clone());
        async move {
            let sent = send(&job.body, job.attempt);
            let words = sent.as_ref().map_or_else(ToString::to_string, |()| "sent".to_owned());
            println!("{}, attempt {}: {words}", job.body, job.attempt);
            if sent.is_ok() {
                // The next one, so that the lines come in order.
                queue.now(&"bob".to_owned()).await.map_err(|_| Refusal::Busy)?;
            }
            counted.add_permits(1);
            sent
        }
    });
    let consumer = consumer.on_error(|error| match error {
        Refusal::Busy => Reaction::Retry,
        Refusal::NoSuchMailbox => Reaction::Dead,
    });
    let all = async {
        let _ = attempts.acquire_many(4).await;
    };
    consumer.concurrency(1).run(all).await?;
    println!("bob's letter is a dead letter now");
    Ok(())
}
