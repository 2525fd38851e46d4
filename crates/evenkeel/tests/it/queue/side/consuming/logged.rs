//! The log lines of failed jobs.

use crate::log::Log;
use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Rig, state};
use evenkeel::queue::{Handled, Reaction};
use evenkeel_protocol::queue::steps::State;
use std::time::Duration;

on_both! {
    failed_attempts_are_logged_with_number_and_reason
}

/// The reason was logged as bytes, `Dead { reason: b"..." }`, and no line had the number of the attempt.
// shows: hazard AL11
async fn failed_attempts_are_logged_with_number_and_reason(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let classify = |error: &String| if error == "Gr\u{f6}\u{df}e" { Reaction::Dead } else { Reaction::Retry };
    let log = Log::begin();
    let office = open(desk.consumer(&mail).on_error(classify));
    let id = mail.now(&"to an unknown address".to_owned()).await.unwrap();
    desk.next().await.answer(Err("the server is away".to_owned()));
    let second = rig.while_time_passes_by(Duration::from_secs(1), desk.next()).await;
    second.answer(Err("Gr\u{f6}\u{df}e".to_owned()));
    while state(&mail, &id).await != Some(State::Dead) {
        tokio::task::yield_now().await;
    }
    let discarded = mail.job(&"worthless".to_owned()).retries(0).discard_exhausted().enqueue().await.unwrap().id;
    desk.next().await.answer(Err("no room".to_owned()));
    while state(&mail, &discarded).await == Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    mail.now(&"fine".to_owned()).await.unwrap();
    desk.next().await.answer(Ok(Handled::Done));
    office.close().await;
    log.says(&[
        "the handler failed error=the server is away queue=mail",
        "the handler failed error=Gr\u{f6}\u{df}e queue=mail",
        "reason=Gr\u{f6}\u{df}e",
        "the handler failed error=no room",
        "reason=no room",
    ]);
    log.each_says("the handler failed", &["attempt=1", "attempt=2", "attempt=1"]);
}
