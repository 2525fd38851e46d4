//! A nightly report in a time zone: two schedulers run it, the next report waits in the queue once, ahead of its time.
//!
//! `cargo run -p evenkeel --features queue --example periodic_job`.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::queue::{Cron, Missed, Queue};
use evenkeel::queue::{Found, State};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::disallowed_methods, reason = "the schedulers run for a moment")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In Berlin the night of 29 March 2026 has no half past two.
    let nightly: Cron = "30 2 * * *".parse::<Cron>()?.in_zone("Europe/Berlin")?;
    for time in nightly.after("2026-03-27T12:00:00Z".parse()?).take(3) {
        println!("{}", time.to_zoned(nightly.zone().clone()));
    }

    let keel = Keel::memory();
    let reports: Queue<String> = keel.queue("report").open().await?;
    let schedule = || {
        let body = |time: &jiff::Zoned| format!("report of {}", time.date());
        reports.periodic("nightly", nightly.clone(), body).missed(Missed::One)
    };
    // Two schedulers of the same name, as in two processes, for long enough to take the next tick in.
    let moment = || tokio::time::sleep(Duration::from_millis(20));
    tokio::try_join!(schedule().run(moment()), schedule().run(moment()))?;

    let next = nightly.after(jiff::Timestamp::now()).next().ok_or("no time left")?;
    let id = evenkeel::queue::Periodic::<String>::tick_id("nightly", next);
    match reports.find(&id).await? {
        Some(Found::Live { state: State::Waiting(_), .. }) => println!("the next report waits in the queue"),
        other => println!("{other:?}"),
    }
    Ok(())
}
