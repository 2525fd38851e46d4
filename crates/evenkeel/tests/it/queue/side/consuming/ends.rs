//! How a consumer ends.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Rig, state};
use evenkeel::queue::{Handled, Priority};
use evenkeel_protocol::queue::steps::{Found, State};
use std::time::Duration;

on_both! {
    drain_completes_handlers_and_claims_no_more
    job_not_done_at_shutdown_is_released
}

/// A12: a consumer that stops without waiting leaves jobs half done, and leased to no consumer.
// shows: spec/queue.md
async fn drain_completes_handlers_and_claims_no_more(rig: Rig) {
    let mail = rig.mail().await;
    let running = mail.now(&"running".to_owned()).await.unwrap();
    let desk = Desk::new();
    let mut office = open(desk.consumer(&mail).concurrency(1));
    let case = desk.next().await;
    let waiting = mail.now(&"waiting".to_owned()).await.unwrap();
    office.stop();
    assert!(desk.next_at_once().await.is_none());
    case.answer(Ok(Handled::Done));
    office.close().await;
    assert_eq!(state(&mail, &running).await, None);
    assert_eq!(state(&mail, &waiting).await, Some(State::Waiting(Priority::Normal)));
}

// shows: spec/queue.md
async fn job_not_done_at_shutdown_is_released(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let id = mail.now(&"endless".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).drain(Duration::from_secs(5)));
    let case = desk.next().await;
    let stopped_at = rig.now_ms();
    let ((), delivery) = rig.while_time_passes(async { tokio::join!(office.close(), case.dropped()) }).await;
    assert!(delivery.cancellation().is_cancelled());
    assert!(rig.now_ms() >= stopped_at + 5_000, "not before the drain's end");

    let Some(Found::Live { state, job, .. }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
    assert_eq!((state, job.errors), (State::Waiting(Priority::Normal), 0), "no attempt was used");
    // At once, without waiting for a lease to end.
    let there = open(desk.consumer(&mail));
    desk.next().await.answer(Ok(Handled::Done));
    there.close().await;
}
