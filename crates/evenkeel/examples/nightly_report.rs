//! A report that several instances start every night, and one of them writes: the others find the lock taken and go home.
//!
//! `cargo run -p evenkeel --features lock --example nightly_report`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::lock::{LockBuilder, LockError};
use std::time::Duration;
use tokio::sync::Barrier;

/// One instance, at two in the morning.
async fn instance(lock: LockBuilder, name: &str, all_asked: &Barrier) -> Result<(), LockError> {
    let lock = lock.ttl(Duration::from_secs(30)).max_hold(Duration::from_secs(600)).metadata(name);
    let guard = lock.clone().try_acquire().await?;
    let Some(guard) = guard else {
        let holder = lock.inspect().await?.map(|holder| String::from_utf8_lossy(&holder.metadata).into_owned());
        println!("{name} goes home, {} is at it", holder.unwrap_or_default());
        all_asked.wait().await;
        return Ok(());
    };
    // Renewed in the background. Should the lock be lost the report is dropped in the middle.
    let report = async {
        all_asked.wait().await;
        println!("{name} writes the report");
    };
    match guard.run(report).await {
        Ok(()) => println!("{name} is done: {:?}", guard.release().await?),
        Err(lost) => println!("{name} stops: {lost}"),
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let lock = keel.lock(&format!("report/{}", std::process::id()));
    let all_asked = Barrier::new(2);
    let (first, second) =
        tokio::join!(instance(lock.clone(), "counter 1", &all_asked), instance(lock.clone(), "counter 2", &all_asked),);
    first?;
    second?;
    keel.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
