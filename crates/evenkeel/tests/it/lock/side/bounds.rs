//! What cannot be had is refused at once, and says why; what is taken says for how long.

use super::holds::take;
use super::rig::{Rig, TTL};
use evenkeel::Keel;
use evenkeel::lock::{LockError, LockTerms, Wait};
use std::time::Duration;

on_both! {
    busy_error_in_the_local_queue_has_the_remaining_time
    busy_error_behind_a_waiting_task_has_remaining_time
    invalid_arguments_are_rejected_before_the_wait
    ttl_and_max_hold_below_50_ms_are_rejected
    ttl_above_max_hold_is_rejected
    refused_ttl_names_both_bounds
}

fn free_in<T: std::fmt::Debug>(answer: Result<T, LockError>) -> Duration {
    match answer {
        Err(LockError::Busy { free_in, .. }) => free_in,
        other => panic!("{other:?}"),
    }
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, LockError>) -> String {
    match answer {
        Err(error @ LockError::Invalid(_)) => {
            assert!(!error.is_retryable() && !error.outcome_unknown());
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// The error once said "taken, for 0 ms more", although half a minute of the lease was left.
// shows: hazard AL3
async fn busy_error_in_the_local_queue_has_the_remaining_time(rig: Rig) {
    let one = rig.process().await;
    let guard = take(&one).await;
    let waiting = one.lock("stock/42").wait(Duration::from_secs(1)).acquire();
    let reported = free_in(rig.while_time_passes(Box::pin(waiting)).await);
    assert!(reported > TTL / 2 && reported <= guard.remaining() + Duration::from_secs(1), "{reported:?}");
    let reported = free_in(one.lock("stock/42").wait(Wait::No).acquire().await);
    assert!(reported > TTL / 2, "{reported:?}");
}

async fn busy_error_behind_a_waiting_task_has_remaining_time(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let _guard = take(&one).await;
    let mut first = Box::pin(two.lock("stock/42").wait(Wait::Forever).acquire());
    let waiting = async {
        let pause = tokio::time::timeout(Duration::from_millis(200), &mut first).await;
        assert!(pause.is_err(), "it is taken");
    };
    waiting.await;
    let reported = free_in(two.lock("stock/42").wait(Wait::No).acquire().await);
    assert!(reported > TTL / 2, "{reported:?}");
}

/// Two kilobytes of metadata queued for a second, then were refused.
// shows: hazard AL3
async fn invalid_arguments_are_rejected_before_the_wait(rig: Rig) {
    let one = rig.process().await;
    let _guard = take(&one).await;
    let _writer = one.rw_lock("prices").write().acquire().await.unwrap();
    let _permits = one.semaphore("exports", 1).acquire().await.unwrap();
    let terms = LockTerms::default().wait(Wait::Forever).metadata("x".repeat(2_048));
    let reported = [
        refusal(one.lock("stock/42").terms(terms.clone()).acquire().await),
        refusal(one.rw_lock("prices").read().terms(terms.clone()).acquire().await),
        refusal(one.semaphore("exports", 1).take(1).terms(terms).acquire().await),
    ];
    assert!(reported.iter().all(|reported| reported.contains("2048 bytes of metadata")), "{reported:?}");
}

/// Regression: with such settings, guards had expired before they were returned.
// shows: hazard AL3
async fn ttl_and_max_hold_below_50_ms_are_rejected(rig: Rig) {
    let one = rig.process().await;
    for span in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(1), Duration::from_millis(49)] {
        for terms in [LockTerms::default().ttl(span), LockTerms::default().max_hold(span)] {
            for reported in everything(&one, &terms.wait(Wait::Forever)).await {
                assert!(
                    reported.as_ref().is_some_and(|reported| reported.contains("50ms")),
                    "{reported:?} for {span:?}"
                );
            }
        }
    }
    let least = LockTerms::default().ttl(Duration::from_millis(50)).max_hold(Duration::from_millis(50));
    assert!(everything(&one, &least).await.iter().all(Option::is_none));
}

/// A ttl of two hours was cut to `max_hold`, an hour by default, without a word: the lock was lost after that.
// shows: hazard BL4
async fn ttl_above_max_hold_is_rejected(rig: Rig) {
    let one = rig.process().await;
    let hour = Duration::from_secs(3_600);
    for terms in [LockTerms::default().ttl(2 * hour), LockTerms::default().max_hold(TTL).ttl(hour)] {
        for reported in everything(&one, &terms.wait(Wait::Forever)).await {
            assert!(
                reported.as_ref().is_some_and(|reported| reported.contains("longer than the `max_hold`")),
                "{reported:?}"
            );
        }
    }
    for terms in [LockTerms::default().ttl(2 * hour).max_hold(None), LockTerms::default().max_hold(TTL / 3)] {
        assert!(everything(&one, &terms).await.iter().all(Option::is_none));
    }
    let guard = one.lock("shorter").max_hold(TTL / 3).acquire().await.unwrap();
    assert_eq!(guard.remaining(), TTL / 3, "the default is not longer than `max_hold`");
}

/// "Must be between 1 ms and 49 days", where 50 ms is the least, and "the minimum is 50 ms" without the most.
// shows: hazard T28
async fn refused_ttl_names_both_bounds(rig: Rig) {
    let one = rig.process().await;
    for ttl in [Duration::from_millis(1), Duration::from_secs(50 * 86_400), Duration::MAX] {
        for reported in everything(&one, &LockTerms::default().max_hold(None).ttl(ttl)).await {
            let text = reported.unwrap_or_default();
            assert!(text.contains("choose") && text.contains("50ms to ") && text.contains("day"), "{ttl:?}: {text}");
        }
    }
}

/// Why each kind of lock refuses these terms.
async fn everything(keel: &Keel, terms: &LockTerms) -> Vec<Option<String>> {
    let refused = |answer: Result<(), LockError>| answer.err().map(|error| error.to_string());
    vec![
        refused(keel.lock("a").terms(terms.clone()).acquire().await.map(drop)),
        refused(keel.rw_lock("a").read().terms(terms.clone()).acquire().await.map(drop)),
        refused(keel.rw_lock("b").write().terms(terms.clone()).acquire().await.map(drop)),
        refused(keel.semaphore("a", 2).take(1).terms(terms.clone()).acquire().await.map(drop)),
        refused(keel.striped_lock("a", 2).unwrap().lock(b"42").terms(terms.clone()).acquire().await.map(drop)),
    ]
}
