//! Dead letters that keep the order of their key: once an event of an account has failed for good, later events of that account become
//! dead letters, too, until an operator has settled all of them in order. The error decides what a failure means.
//!
//! `cargo run -p evenkeel --features stream --example dead_letter_sequence`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::stream::admin::{DeadLetters, Replayed};
use evenkeel::stream::{Consumer, Entry, EntryId, OnFailure, Reaction, Stream, StreamError};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How a booking can fail.
#[derive(Debug)]
enum Refusal {
    /// The same event may succeed later.
    Locked,
    /// Only a person can help.
    Overdrawn,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Locked => "the ledger is locked",
            Self::Overdrawn => "the account is overdrawn",
        })
    }
}

/// The balances, and a permit for each attempt.
struct Ledger {
    cents: Mutex<BTreeMap<Vec<u8>, i64>>,
    attempts: Semaphore,
}

impl Ledger {
    fn book(&self, account: &[u8], cents: i64) -> Result<i64, Refusal> {
        let mut balances = self.cents.lock().unwrap_or_else(PoisonError::into_inner);
        let balance = balances.entry(account.to_vec()).or_default();
        if *balance + cents < 0 {
            return Err(Refusal::Overdrawn);
        }
        *balance += cents;
        Ok(*balance)
    }

    fn handle(&self, event: &Entry<i64>) -> Result<i64, Refusal> {
        // The ledger is locked when the first event of account 2 arrives.
        let is_locked = &event.key[..] == b"account/2" && event.attempt == 1;
        let booked = if is_locked { Err(Refusal::Locked) } else { self.book(&event.key, event.value) };
        let result = booked.as_ref().map_or_else(ToString::to_string, |balance| format!("balance {balance}"));
        println!("{} {:+}: {result}", String::from_utf8_lossy(&event.key), event.value);
        booked
    }

    async fn until_attempts(&self, attempts: u32) {
        if let Ok(made) = self.attempts.acquire_many(attempts).await {
            made.forget();
        }
    }
}

fn bookings(events: &Stream<i64>, ledger: &Arc<Ledger>) -> Consumer<i64, Refusal> {
    let ledger = Arc::clone(ledger);
    let group = events.group("bookings").per_key(OnFailure::DeadLetterSequence);
    let consumer = group.handle(move |event: Entry<i64>| {
        let ledger = Arc::clone(&ledger);
        async move {
            let booked = ledger.handle(&event).map(drop);
            ledger.attempts.add_permits(1);
            booked
        }
    });
    consumer.concurrency(1).on_error(|error| match error {
        Refusal::Locked => Reaction::RetryAfter(Duration::from_millis(20)),
        Refusal::Overdrawn => Reaction::Dead,
    })
}

/// What an operator does: books the letters in their order, and then frees the key by removing them.
async fn settle(dead: &DeadLetters, ledger: &Ledger) -> Result<(), StreamError> {
    let letters = dead.list(0, EntryId::MIN, 10).await?;
    let ids: Vec<EntryId> = letters.iter().map(|letter| letter.id).collect();
    let replayed = dead.replay(0, &ids).await?;
    let are_parked = replayed.iter().all(|replayed| *replayed == Replayed::Parked);
    println!("{} dead letters; sent back they would be overtaken: {are_parked}", letters.len());
    for letter in &letters {
        let cents = DeadLetters::value_of(letter).and_then(|value| std::str::from_utf8(&value).ok()?.parse().ok());
        if let Some(Ok(balance)) = cents.map(|cents| ledger.book(&letter.key, cents)) {
            println!("operator, {}: balance {balance}", String::from_utf8_lossy(&letter.key));
        }
    }
    dead.remove(0, &ids).await?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the example looks at the dead letters every 5 ms")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let events: Stream<i64> = keel.stream("example-bookings").partitions(1).open().await?;
    // The second event of account 1 overdraws it; the third one must not be booked before it.
    for (account, cents) in [("account/1", 100), ("account/1", -150), ("account/1", -20), ("account/2", 5)] {
        events.append(account, &cents).await?;
    }
    let ledger = Arc::new(Ledger { cents: Mutex::default(), attempts: Semaphore::new(0) });
    // The third event of account 1 becomes a dead letter without an attempt; account 2 needs two attempts.
    let dead = events.admin().dead("bookings")?;
    let settled = async {
        ledger.until_attempts(4).await;
        while dead.list(0, EntryId::MIN, 10).await.is_ok_and(|letters| letters.len() < 2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    bookings(&events, &ledger).run(settled).await?;

    // A credit that arrived by another way makes room.
    ledger.book(b"account/1", 100).map_err(|error| error.to_string())?;
    settle(&dead, &ledger).await?;
    events.append("account/1", &7).await?;
    bookings(&events, &ledger).run(ledger.until_attempts(1)).await?;
    Ok(())
}
