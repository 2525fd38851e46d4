//! An API whose tenants may send so many requests a second, and each of their keys so many a minute; and a mailer that waits for its turn.
//!
//! `cargo run -p evenkeel --features limit --example limit_requests`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::limit::{Decision, LimitError, Rate, Window, WithoutRedis};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };

    let api = keel
        .limit("example-api")
        .level("tenant", Rate::new(100, SECOND).burst(200))
        .level("key", Window::new(3, 60 * SECOND))
        .without_redis(WithoutRedis::Local)
        .open()
        .await?;
    for request in 1..=4 {
        match api.check(&["acme", "key-7"]).await? {
            Decision::Admitted(admitted) => println!("request {request}: 200, {:?} left", admitted.remaining),
            Decision::Refused(refused) => {
                println!("request {request}: 429, by the level {:?}", refused.level);
                println!("  again after a minute: {}", (60 * SECOND..=66 * SECOND).contains(&refused.retry_after));
            }
        }
    }
    println!("another key of the tenant: {}", api.check(&["acme", "key-8"]).await?.is_admitted());

    // Ten a second, one after another: each call reserves its place when it asks.
    let mailer = keel.limit("example-mailer").level("server", Rate::new(10, SECOND).burst(1)).open().await?;
    let server = ["smtp.example.com"];
    let (first, second, third, impatient) = tokio::join!(
        mailer.acquire(&server, SECOND),
        mailer.acquire(&server, SECOND),
        mailer.acquire(&server, SECOND),
        mailer.acquire(&server, Duration::ZERO),
    );
    for (mail, decision) in [("first", first?), ("second", second?), ("third", third?), ("impatient", impatient?)] {
        match decision {
            Decision::Admitted(admitted) => println!("the {mail} mail has waited: {}", !admitted.waited.is_zero()),
            Decision::Refused(_) => println!("the {mail} mail was refused"),
        }
    }

    if let Err(LimitError::Invalid(reason)) = mailer.check_n(&server, 2).await {
        println!("{reason}");
    }
    Ok(())
}
