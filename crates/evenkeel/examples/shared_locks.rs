//! A price list that many read and one writes, and a mail server that takes three letters at once.
//!
//! `cargo run -p evenkeel --features lock --example shared_locks`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };

    let prices = keel.rw_lock("example-prices");
    let (ann, bob) = (prices.read().acquire().await?, prices.read().acquire().await?);
    println!("two read, with one fence: {}", ann.fence() == bob.fence());
    println!("a writer at the same time: {}", prices.write().try_acquire().await?.is_some());
    let reading = ann.fence();
    let writing = tokio::spawn(prices.write().wait(Duration::from_secs(10)).acquire());
    ann.release().await?;
    bob.release().await?;
    let writer = writing.await??;
    println!("then one writes, with a higher fence: {}", writer.fence() > reading);
    writer.release().await?;

    let mailer = keel.semaphore("example-mailer", 3);
    let (two, one) = (mailer.take(2).acquire().await?, mailer.acquire().await?);
    println!("a fourth letter: {}", mailer.take(1).try_acquire().await?.is_some());
    two.release().await?;
    println!("two more, after two were sent: {}", mailer.take(2).try_acquire().await?.is_some());
    one.release().await?;
    println!("with another number: {}", keel.semaphore("example-mailer", 5).acquire().await.is_err());
    keel.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
