//! Every public parameter of a lock at zero, one, its bounds, just above them, and at its largest: it is taken, shortened as documented, or
//! refused in a sentence. Nothing wedges, panics or overflows, both backends say the same, and the next acquisition works.

use super::rig::{Rig, in_time, is_ready};
use evenkeel::Keel;
use evenkeel::lock::{ExclusiveGuard, Fence, LockError, LockTerms, Permits, ReleaseOutcome, Wait};
use std::time::Duration;

on_both! {
    waits_of_extreme_length_end_with_the_lock
    fences_rise_above_the_highest_floor
    break_with_an_extreme_fence_affects_no_other_holder
    leases_of_extreme_length_are_held_and_lost
    several_extreme_locks_are_granted_or_rejected
    shutdown_with_extreme_deadlines_ends
}

const DAY: Duration = Duration::from_secs(24 * 3600);
const MS: Duration = Duration::from_millis(1);
/// The longest lease of an exclusive lock.
const LEASE_MAX: Duration = Duration::from_millis(u32::MAX as u64);

pub(super) fn spans() -> Vec<Duration> {
    let least = Duration::from_millis(50);
    let all =
        [Duration::ZERO, Duration::from_nanos(1), MS, least - MS, least, DAY, DAY + MS, LEASE_MAX, LEASE_MAX + MS];
    let centuries = [99 * 365 * DAY, 101 * 365 * DAY, Duration::from_millis(u64::MAX), Duration::MAX];
    all.into_iter().chain(centuries).collect()
}

pub(in crate::lock) fn all_terms() -> Vec<(String, LockTerms)> {
    let none = || LockTerms::default().wait(Wait::No);
    let mut all = vec![("no limit".to_owned(), none().max_hold(None))];
    for span in spans() {
        all.push((format!("ttl {span:?}"), none().ttl(span).max_hold(None)));
        all.push((format!("ttl {span:?}, max_hold of an hour"), none().ttl(span)));
        all.push((format!("max_hold {span:?}"), none().max_hold(span)));
        all.push((format!("lock_delay {span:?}"), none().lock_delay(span)));
        all.push((format!("ttl, max_hold and lock_delay {span:?}"), none().ttl(span).max_hold(span).lock_delay(span)));
    }
    for size in [0, 1, 1024, 1025, 1 << 20] {
        all.push((format!("metadata of {size}"), none().metadata("x".repeat(size))));
    }
    all
}

pub(in crate::lock) fn names() -> Vec<String> {
    let sizes = [0, 1, 512, 513, 1 << 20].map(|size| "x".repeat(size));
    let odd = ["\0", "}", "{", "{}", "%7D", "a b\r\n", "*", "\u{1f980}"].map(str::to_owned);
    sizes.into_iter().chain(odd).collect()
}

/// Whether it was accepted. A rejection is an error of the caller's, and an acquired lock is released.
async fn verdict(what: &str, asked: Result<Box<dyn ExclusiveGuard>, LockError>) -> (String, bool) {
    let is_taken = match asked {
        Ok(guard) => {
            assert!(!guard.is_lost() && !guard.remaining().is_zero(), "{what}");
            assert!(!is_ready(guard.lost().as_mut()), "{what}");
            assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "{what}");
            true
        }
        Err(LockError::Invalid(_)) => false,
        Err(error) => panic!("{what}: {error}"),
    };
    (what.to_owned(), is_taken)
}

pub(super) fn boxed(guard: evenkeel::lock::Guard) -> Box<dyn ExclusiveGuard> {
    Box::new(guard)
}

/// Permits as a guard.
async fn permits(what: &str, asked: Result<Permits, LockError>) -> (String, bool) {
    let is_taken = match asked {
        Ok(permits) => {
            assert!(!permits.is_lost() && !permits.remaining().is_zero(), "{what}");
            assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::Released, "{what}");
            true
        }
        Err(LockError::Invalid(_)) => false,
        Err(error) => panic!("{what}: {error}"),
    };
    (what.to_owned(), is_taken)
}

async fn of_terms(keel: &Keel) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let striped = keel.striped_lock("striped", 2).unwrap();
    for (what, terms) in all_terms() {
        let exclusive = keel.lock("a").terms(terms.clone()).acquire().await.map(boxed);
        all.push(verdict(&format!("exclusive, {what}"), exclusive).await);
        let reader = keel.rw_lock("a").read().terms(terms.clone()).acquire().await.map(boxed);
        all.push(verdict(&format!("reader, {what}"), reader).await);
        let writer = keel.rw_lock("a").write().terms(terms.clone()).acquire().await.map(boxed);
        all.push(verdict(&format!("writer, {what}"), writer).await);
        let striped = striped.lock(b"42").terms(terms.clone()).acquire().await.map(boxed);
        all.push(verdict(&format!("striped, {what}"), striped).await);
        let two = keel.semaphore("a", 2).take(1).terms(terms).acquire().await;
        all.push(permits(&format!("permits, {what}"), two).await);
    }
    all
}

async fn of_names_and_numbers(keel: &Keel) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for name in names() {
        let what = format!("a name of {} bytes, {:?}", name.len(), name.chars().next());
        all.push(verdict(&format!("exclusive, {what}"), keel.lock(&name).acquire().await.map(boxed)).await);
        all.push(verdict(&format!("writer, {what}"), keel.rw_lock(&name).write().acquire().await.map(boxed)).await);
        all.push(permits(&format!("permits, {what}"), keel.semaphore(&name, 1).acquire().await).await);
        all.push((format!("looked at, {what}"), keel.lock(&name).inspect().await.is_ok()));
        all.push((format!("broken, {what}"), keel.lock(&name).break_lock(None).await.is_ok()));
        let striped = keel.striped_lock(&name, 1);
        all.push((format!("striped, {what}"), striped.is_ok()));
    }
    let counts = [0, 1, 500, 501, 4096, 4097, u32::MAX];
    for in_all in counts {
        for expected in counts {
            let what = format!("{expected} permits of {in_all}");
            let semaphore = keel.semaphore(&what, in_all);
            all.push(permits(&what, semaphore.take(expected).acquire().await).await);
        }
        let semaphore = keel.semaphore("resized", in_all);
        all.push((format!("resized to {in_all}"), semaphore.resize().await.is_ok()));
        all.push((format!("{in_all} stripes"), keel.striped_lock("numbered", in_all).is_ok()));
    }
    all
}

/// `max_hold` overflowed: in memory it panicked, on Redis the limit was an arbitrary time.
// shows: hazard AL9, hazard BL4
#[tokio::test]
async fn extreme_terms_behave_alike_on_both_backends() {
    in_time(Box::pin(async {
        let rigs = (Rig::memory(), Rig::redis().await);
        let (memory, redis) = (rigs.0.process().await, rigs.1.process().await);
        let (here, there) = (of_terms(&memory).await, of_terms(&redis).await);
        for (here, there) in here.iter().zip(&there) {
            assert_eq!(here, there);
        }
        let is_taken = |expected: &str| here.iter().find(|(what, _)| what == expected).unwrap().1;
        assert!(is_taken(&format!("exclusive, ttl {LEASE_MAX:?}")) && is_taken(&format!("permits, ttl {DAY:?}")));
        assert!(is_taken(&format!("exclusive, max_hold {:?}", Duration::MAX)));
        assert!(!is_taken(&format!("exclusive, ttl {DAY:?}, max_hold of an hour")));
        assert!(!is_taken(&format!("exclusive, ttl {:?}", Duration::MAX)) && !is_taken("reader, metadata of 1025"));
    }))
    .await;
}

// shows: hazard AL9
#[tokio::test]
async fn extreme_names_and_numbers_behave_alike_on_both_backends() {
    in_time(Box::pin(async {
        let rigs = (Rig::memory(), Rig::redis().await);
        let (memory, redis) = (rigs.0.process().await, rigs.1.process().await);
        let (here, there) = (of_names_and_numbers(&memory).await, of_names_and_numbers(&redis).await);
        for (here, there) in here.iter().zip(&there) {
            assert_eq!(here, there);
        }
        let is_taken = |expected: &str| here.iter().find(|(what, _)| what == expected).unwrap().1;
        assert!(is_taken("500 permits of 500") && !is_taken("501 permits of 501") && !is_taken("0 permits of 1"));
    }))
    .await;
}

// shows: hazard AL9
async fn waits_of_extreme_length_end_with_the_lock(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    for wait in spans().into_iter().map(Wait::UpTo).chain([Wait::No, Wait::Forever]) {
        let is_short = matches!(wait, Wait::No) || matches!(wait, Wait::UpTo(span) if span < DAY);
        // The releasing process yields to those that waited a moment ago.
        let held = rig.while_time_passes(Box::pin(one.lock("a").acquire())).await.unwrap();
        let mut asked = Box::pin(two.lock("a").wait(wait).acquire());
        if is_short {
            let refused = rig.while_time_passes(&mut asked).await;
            assert!(matches!(refused, Err(LockError::Busy { .. })), "{wait:?}: {refused:?}");
            held.release().await.unwrap();
        } else {
            assert!(!is_ready(asked.as_mut()), "{wait:?}");
            held.release().await.unwrap();
            let guard = rig.while_time_passes(&mut asked).await.unwrap();
            guard.release().await.unwrap();
        }
    }
}

/// A script cannot count above 2^53: two holders in succession had the same fence.
// shows: hazard AL9
async fn fences_rise_above_the_highest_floor(rig: Rig) {
    let keel = rig.process().await;
    for floor in [0, 1, 1 << 52, (1 << 52) + 1, (1 << 53) - 2, (1 << 53) - 1, 1 << 53, u64::MAX] {
        let name = format!("above {floor}");
        let mut last = Fence(0);
        for _ in 0..3 {
            match keel.lock(&name).fence_above(Fence(floor)).acquire().await {
                Ok(guard) => {
                    assert!(guard.fence() > last && guard.fence().0 > floor, "{floor}: {guard:?}");
                    last = guard.fence();
                    guard.release().await.unwrap();
                }
                Err(error) => assert!(matches!(error, LockError::Invalid(_)) && floor > 1 << 52, "{floor}: {error}"),
            }
            match keel.rw_lock(&name).write().fence_above(Fence(floor)).acquire().await {
                Ok(guard) => drop(guard.release().await.unwrap()),
                Err(error) => assert!(matches!(error, LockError::Invalid(_)) && floor > 1 << 52, "{floor}: {error}"),
            }
        }
    }
}

/// On Redis a fence of 0 meant any.
// shows: hazard AL9
async fn break_with_an_extreme_fence_affects_no_other_holder(rig: Rig) {
    let keel = rig.process().await;
    let guard = keel.lock("a").acquire().await.unwrap();
    for seen in [0, 1, (1 << 53) - 1, 1 << 53, u64::MAX] {
        assert_eq!(keel.lock("a").break_lock(Some(Fence(seen))).await.unwrap(), None, "{seen}");
    }
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
}

// shows: hazard AL9
async fn leases_of_extreme_length_are_held_and_lost(rig: Rig) {
    let (one, two) = (rig.process().await, rig.process().await);
    let least = Duration::from_millis(50);
    let short = one.lock("short").ttl(least).max_hold(least).acquire().await.unwrap();
    let long = one.lock("long").ttl(LEASE_MAX).max_hold(Duration::MAX).acquire().await.unwrap();
    rig.advance(DAY).await;
    assert!(short.is_lost() && !long.is_lost());
    assert!(two.lock("short").try_acquire().await.unwrap().is_some());
    assert!(two.lock("long").try_acquire().await.unwrap().is_none());
    rig.advance(LEASE_MAX).await;
    assert!(long.is_lost());
}

async fn several_extreme_locks_are_granted_or_rejected(rig: Rig) {
    let keel = rig.process().await;
    let (long, many) = ("x".repeat(513), (0..501).map(|number| number.to_string()).collect::<Vec<_>>());
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (names, expected) in
        [(&[][..], Some(0)), (&["a", "a"], Some(1)), (&many, Some(501)), (&["a", ""], None), (&["a", &long], None)]
    {
        match keel.lock_many(names, |lock| lock.wait(Wait::No)).await {
            Ok(guards) => {
                assert_eq!(Some(guards.each().len()), expected);
                guards.release().await.unwrap();
            }
            Err(error) => assert!(matches!(error, LockError::Invalid(_)) && expected.is_none(), "{error}"),
        }
    }
    let striped = keel.striped_lock("striped", 4096).unwrap();
    for key in [&b""[..], b"\0", &[0xff; 1 << 20]] {
        assert!(striped.stripe(key) < 4096);
        let guards = striped.lock_many(&[key, key], |lock| lock).await.unwrap();
        assert_eq!(guards.each().len(), 1);
        guards.release().await.unwrap();
    }
}

async fn shutdown_with_extreme_deadlines_ends(rig: Rig) {
    for deadline in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        let keel = rig.process().await;
        // A lock that is not released in time ends with its lease.
        drop(rig.while_time_passes(Box::pin(keel.lock("a").acquire())).await.unwrap());
        keel.shutdown(deadline).await;
    }
    let keel = rig.process().await;
    let asked = keel.lock("a").wait(DAY).acquire();
    assert!(rig.while_time_passes(Box::pin(asked)).await.is_ok());
}
