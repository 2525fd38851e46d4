//! Orders whose events are handled in the order in which they happened, while other orders go on.
//!
//! `cargo run -p evenkeel --features stream --example ordered_consumer`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::stream::admin::Replayed;
use evenkeel::stream::{Consumer, Entry, EntryId, OnFailure, Reaction, RetryDelay, Stream};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::Semaphore;

#[derive(Debug)]
enum Refusal {
    BankAway,
    NoSuchAccount,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BankAway => "the bank is away",
            Self::NoSuchAccount => "no such account",
        })
    }
}

/// A bank that is away at first, and does not know the account of order 8 until an operator has corrected it.
#[derive(Clone)]
struct Bank {
    is_corrected: Arc<AtomicBool>,
    /// A permit for each attempt.
    attempts: Arc<Semaphore>,
}

impl Bank {
    fn charge(&self, event: &Entry<String>) -> Result<(), Refusal> {
        match (&event.key[..], event.value.as_str(), event.attempt) {
            (b"order/7", "paid", 1) => Err(Refusal::BankAway),
            (b"order/8", "paid", _) if !self.is_corrected.load(SeqCst) => Err(Refusal::NoSuchAccount),
            _ => Ok(()),
        }
    }

    async fn until_attempts(&self, attempts: u32) {
        if let Ok(made) = self.attempts.acquire_many(attempts).await {
            made.forget();
        }
    }
}

fn billing(orders: &Stream<String>, bank: &Bank) -> Consumer<String, Refusal> {
    let bank = bank.clone();
    let group = orders.group("billing").per_key(OnFailure::BlockKey);
    let consumer =
        group.retry_delay(RetryDelay::fixed(Duration::from_millis(20))).handle(move |event: Entry<String>| {
            let bank = bank.clone();
            async move {
                let charged = bank.charge(&event);
                let words = charged.as_ref().map_or_else(ToString::to_string, |()| "done".to_owned());
                println!("{} {}, attempt {}: {words}", String::from_utf8_lossy(&event.key), event.value, event.attempt);
                bank.attempts.add_permits(1);
                charged
            }
        });
    consumer.concurrency(1).on_error(|error| match error {
        Refusal::BankAway => Reaction::Retry,
        Refusal::NoSuchAccount => Reaction::Dead,
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let orders: Stream<String> = keel.stream("example-orders").partitions(1).open().await?;
    for (order, event) in [("order/7", "placed"), ("order/7", "paid"), ("order/7", "shipped"), ("order/8", "paid")] {
        orders.append(order, &event.to_owned()).await?;
    }
    let bank = Bank { is_corrected: Arc::default(), attempts: Arc::new(Semaphore::new(0)) };
    // Order 7 is paid in the second attempt, and shipped only then; order 8 does not wait for it.
    billing(&orders, &bank).run(bank.until_attempts(5)).await?;

    let dead = orders.admin().dead("billing")?;
    let letters = dead.list(0, EntryId::MIN, 10).await?;
    for letter in &letters {
        let reason = letter.tries.as_ref().and_then(|tries| tries.notes.last()).map(|note| note.text.clone());
        let reason = reason.unwrap_or_default();
        println!("dead letter of {}: {}", String::from_utf8_lossy(&letter.key), String::from_utf8_lossy(&reason));
    }

    bank.is_corrected.store(true, SeqCst);
    let ids: Vec<EntryId> = letters.iter().map(|letter| letter.id).collect();
    let replayed = dead.replay(0, &ids).await?;
    println!("sent back: {}", replayed.iter().filter(|replayed| matches!(replayed, Replayed::Appended(_))).count());
    billing(&orders, &bank).run(bank.until_attempts(1)).await?;
    println!("dead letters left: {}", dead.list(0, EntryId::MIN, 10).await?.len());
    Ok(())
}
