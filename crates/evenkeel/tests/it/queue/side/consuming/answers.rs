//! Outcomes that no store accepts: they end in the consumer, and the consumer continues.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Mail, Rig, ended, state};
use evenkeel::queue::{Handled, JobId, Priority, Reaction};
use evenkeel_protocol::queue::steps::{Found, State};
use std::time::Duration;

on_both! {
    endless_delay_does_not_block_the_consumer
    endless_pause_does_not_block_the_consumer
    impossible_fence_does_not_raise_later_fences
    fence_lower_than_the_own_one_is_retried_after_a_delay
}

const YEAR_MS: u64 = 365 * 24 * 3_600_000;

async fn due_at(mail: &Mail, id: &JobId) -> u64 {
    match mail.find(id).await.unwrap() {
        Some(Found::Live { score, .. }) => score,
        other => panic!("{other:?}"),
    }
}

/// The span was rejected before anything was sent, and the rejected call was repeated forever, with the settlements of all
/// other jobs.
// shows: hazard A1
async fn endless_delay_does_not_block_the_consumer(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let classify = |error: &String| match error.as_str() {
        "later" => Reaction::RetryAfter(Duration::MAX),
        _ => Reaction::Snooze(Duration::MAX),
    };
    let office = open(desk.consumer(&mail).on_error(classify));
    for answer in [
        Ok(Handled::Snooze(Duration::MAX)),
        Ok(Handled::Retry(Duration::MAX)),
        Err("later".to_owned()),
        Err("not yet".to_owned()),
    ] {
        let endless = mail.now(&"endless".to_owned()).await.unwrap();
        desk.next().await.answer(answer.clone());
        let fine = mail.now(&"fine".to_owned()).await.unwrap();
        assert_eq!(desk.done().await, "fine", "{answer:?}");
        ended(&mail, &fine).await;
        assert_eq!(state(&mail, &endless).await, Some(State::Waiting(Priority::Normal)), "{answer:?}");
        let delay = due_at(&mail, &endless).await - rig.now_ms();
        assert!((99 * YEAR_MS..=101 * YEAR_MS).contains(&delay), "{answer:?}: {delay}");
    }
    office.close().await;
}

// shows: hazard A1
async fn endless_pause_does_not_block_the_consumer(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).on_error(|_| Reaction::PauseTopic(Duration::MAX)));
    let down = mail.now(&"down".to_owned()).await.unwrap();
    desk.next().await.answer(Err("down".to_owned()));
    while state(&mail, &down).await == Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    assert!(mail.topic().stats().await.unwrap().is_paused());
    mail.topic().resume().await.unwrap();
    assert_eq!(rig.while_time_passes(desk.done()).await, "down");
    mail.now(&"fine".to_owned()).await.unwrap();
    assert_eq!(rig.while_time_passes(desk.done()).await, "fine");
    office.close().await;
}

/// It was redelivered at once, 24,746 times in six seconds.
// shows: hazard T17
async fn fence_lower_than_the_own_one_is_retried_after_a_delay(rig: Rig) {
    let fixed = evenkeel::queue::RetryDelay::fixed(Duration::from_secs(60));
    let mail = rig.mail_with(|builder| builder.retry_delay(fixed)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let odd = mail.now(&"odd".to_owned()).await.unwrap();
    let sent_at = rig.now_ms();
    desk.next().await.answer(Ok(Handled::FenceSeen(0)));
    while state(&mail, &odd).await == Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    assert!(due_at(&mail, &odd).await > sent_at);
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!(again.delivery.attempt, 1, "no attempt was used");
    again.answer(Ok(Handled::Done));
    office.close().await;
}

/// Regression: the next fence was this one plus one, which overflowed.
// shows: hazard A1
async fn impossible_fence_does_not_raise_later_fences(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let odd = mail.now(&"odd".to_owned()).await.unwrap();
    desk.next().await.answer(Ok(Handled::FenceSeen(u64::MAX)));
    mail.now(&"fine".to_owned()).await.unwrap();
    let fine = desk.next().await;
    assert!(fine.delivery.fence < 1 << 52, "{}", fine.delivery.fence);
    fine.answer(Ok(Handled::Done));
    office.close().await;
    assert_eq!(state(&mail, &odd).await, Some(State::Dead));
}
