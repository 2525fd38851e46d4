//! Other programs: what they write under the keys of our locks, and programs of ours with other settings under one name.

use crate::lock::side::rig::{Rig, TTL, in_time};
use evenkeel::Keel;
use evenkeel::lock::{Fence, LockError, LossReason, ReleaseOutcome};

/// What another program may have left under a key.
const LEFT: [&[&str]; 7] = [
    &["SET", "{key}", ""],
    &["SET", "{key}", "1"],
    &["SET", "{key}", "a text that is longer than the record of a held lock, which has fifty bytes"],
    &["HSET", "{key}", "price", "7", "h", "x", "hello", "y", "w0123456789abcdef", "z", "p", "q"],
    &["RPUSH", "{key}", "a", "b"],
    &["ZADD", "{key}", "1", "a"],
    &["XADD", "{key}", "*", "field", "value"],
];

const ENDINGS: [&str; 5] = ["lock", "fence", "waiters", "rw", "permits"];

async fn leave(rig: &Rig, keel: &Keel, name: &str, ending: &str, words: &[&str]) {
    let key = rig.key(name, ending);
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(if *word == "{key}" { key.as_str() } else { *word });
    }
    let link = keel.link().unwrap();
    link.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await.unwrap();
    link.command(key.as_bytes(), &command).await.unwrap();
}

/// Every acquisition failed forever, with an error of the script's, and so did breaking the lock.
// shows: hazard AL8
#[tokio::test]
async fn foreign_bytes_are_replaced_by_the_next_acquire() {
    in_time(Box::pin(async {
        let rig = Rig::redis().await;
        let (one, two) = (rig.process().await, rig.process().await);
        for ending in ENDINGS {
            for words in LEFT {
                leave(&rig, &one, "a", ending, words).await;
                let what = format!("{ending}: {words:?}");
                let guard = one.lock("a").ttl(TTL).acquire().await.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(two.lock("a").try_acquire().await.unwrap().is_none(), "{what}");
                assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "{what}");
                let writer = one.rw_lock("a").write().acquire().await.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(two.rw_lock("a").read().try_acquire().await.unwrap().is_none(), "{what}");
                assert_eq!(writer.release().await.unwrap(), ReleaseOutcome::Released, "{what}");
                let permits = one.semaphore("a", 2).acquire().await.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::Released, "{what}");
            }
        }
    }))
    .await;
}

/// The holder detects it as it detects a deleted lease, and fences keep rising.
// shows: hazard AL8
#[tokio::test]
async fn foreign_bytes_in_a_held_lock_end_the_hold() {
    in_time(Box::pin(async {
        let rig = Rig::redis().await;
        let (one, two) = (rig.process().await, rig.process().await);
        let mut last = Fence(0);
        for words in LEFT {
            let guard = one.lock("a").ttl(TTL).acquire().await.unwrap();
            let writer = one.rw_lock("a").write().ttl(TTL).acquire().await.unwrap();
            assert!(guard.fence() > last);
            last = guard.fence();
            for ending in ENDINGS {
                leave(&rig, &one, "a", ending, words).await;
            }
            for look in [two.lock("a").inspect().await.map(drop), two.lock("a").break_lock(None).await.map(drop)] {
                look.unwrap_or_else(|error| panic!("{words:?}: {error}"));
            }
            two.rw_lock("a").inspect().await.unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert_eq!(rig.while_time_passes(guard.lost()).await.reason, LossReason::Gone, "{words:?}");
            assert_eq!(rig.while_time_passes(writer.lost()).await.reason, LossReason::Gone, "{words:?}");
            let next = two.lock("a").acquire().await.unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert!(next.fence() > last, "{words:?}");
            assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
            next.release().await.unwrap();
            two.rw_lock("a").write().acquire().await.unwrap().release().await.unwrap();
        }
    }))
    .await;
}

/// The message was that of a number that could not be parsed.
// shows: hazard AL8
#[tokio::test]
async fn foreign_stripe_count_is_rejected_and_repaired() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        for words in [LEFT[0], LEFT[2], LEFT[3]] {
            leave(&rig, &keel, "stock", "stripes", words).await;
            let striped = keel.striped_lock("stock", 16).unwrap();
            let error = striped.lock(b"42").acquire().await.unwrap_err();
            assert!(matches!(&error, LockError::Invalid(text) if text.contains("`restripe`")), "{words:?}: {error}");
            striped.restripe().await.unwrap();
            striped.lock(b"42").acquire().await.unwrap().release().await.unwrap();
        }
    })
    .await;
}

/// Listings skip keys that look like ours.
// shows: hazard AL8
#[tokio::test]
async fn listings_skip_keys_of_other_programs() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let _guard = keel.lock("a").acquire().await.unwrap();
        for key in ["l:{}:lock", "l:{\u{fffd}:lock", "l:{a:lock", "l:x}:lock"] {
            let key = rig.key_of(key);
            keel.link().unwrap().command(key.as_bytes(), redis::cmd("HSET").arg(&key).arg("a").arg("b")).await.unwrap();
        }
        let names = keel.locks_held().await.unwrap();
        assert_eq!(names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["a"]);
    })
    .await;
}

/// Each acquisition says its own terms, so programs with other ones keep each other out all the same.
// shows: hazard AL13
#[tokio::test]
async fn programs_with_different_terms_exclude_each_other() {
    in_time(Box::pin(async {
        for rig in [Rig::memory(), Rig::redis().await] {
            let (one, two) = (rig.process().await, rig.process().await);
            let long = one.lock("a").ttl(TTL).metadata("long").acquire().await.unwrap();
            let short = |keel: &Keel| keel.lock("a").ttl(TTL / 10).max_hold(TTL / 5).lock_delay(TTL / 10);
            assert!(short(&two).try_acquire().await.unwrap().is_none());
            long.release().await.unwrap();
            let held = short(&two).acquire().await.unwrap();
            assert!(one.lock("a").ttl(TTL).try_acquire().await.unwrap().is_none());
            drop(held);
            let asked = one.semaphore("a", 2).acquire().await.unwrap();
            let differs = two.semaphore("a", 3).acquire().await.unwrap_err();
            assert!(matches!(differs, LockError::Differs { asked: 3, stored: 2, .. }), "{differs}");
            drop(asked);
        }
    }))
    .await;
}
