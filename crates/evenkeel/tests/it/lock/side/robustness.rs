//! Random misuse of locks: names, terms and numbers at their extremes in any combination.

use super::extremes::{boxed, names, spans};
use super::rig::Rig;
use crate::robustness::Round;
use evenkeel::Keel;
use evenkeel::lock::{ExclusiveGuard, LockError, LockTerms, ReleaseOutcome, Wait};

const SIZES: [usize; 5] = [0, 1, 1_024, 1_025, 1 << 20];
const COUNTS: [u32; 7] = [0, 1, 500, 501, 4_096, 4_097, u32::MAX];

/// What is acquired is held and can be released; then another caller acquires it.
pub(crate) async fn extremes(mut round: Round) {
    let rig = if round.is_on_redis() { Rig::redis().await } else { Rig::memory() };
    let (keel, other) = (rig.process().await, rig.process().await);
    for _ in 0..60 {
        let name = round.one(&names()).clone();
        let (terms, what) = terms(&mut round);
        if round.chance(30) {
            permits(&mut round, &keel, terms, &what).await;
            continue;
        }
        let kind = round.number(0, 3);
        let call = format!("kind {kind} of a name of {} bytes: {what}", name.len());
        let acquired = exclusive(&keel, kind, &name, terms).await;
        let Some(guard) = round.result(&call, acquired, is_refusal) else { continue };
        assert!(!guard.is_lost() && !guard.remaining().is_zero(), "{call}");
        assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "{call}");
        let next = exclusive(&other, kind, &name, LockTerms::default().wait(Wait::No)).await;
        assert_eq!(next.unwrap().release().await.unwrap(), ReleaseOutcome::Released, "after {call}");
        round.checked(1);
    }
    keel.lock("fine").acquire().await.unwrap().release().await.unwrap();
}

fn is_refusal(error: &LockError) -> bool {
    matches!(error, LockError::Invalid(_))
}

/// Terms with some settings at their extremes, and their names. They do not wait.
pub(crate) fn terms(round: &mut Round) -> (LockTerms, String) {
    let (mut terms, mut what) = (LockTerms::default().wait(Wait::No), Vec::new());
    for setting in 0..4 {
        if round.chance(60) {
            continue;
        }
        let span = *round.one(&spans());
        match setting {
            0 => terms = terms.ttl(span),
            1 => terms = terms.max_hold(span),
            2 => terms = terms.lock_delay(span),
            _ => {
                let size = *round.one(&SIZES);
                terms = terms.metadata("x".repeat(size));
                what.push(format!("metadata of {size}"));
                continue;
            }
        }
        what.push(format!("{} {span:?}", ["ttl", "max_hold", "lock_delay"][setting]));
    }
    (terms, what.join(", "))
}

async fn exclusive(keel: &Keel, kind: u64, name: &str, terms: LockTerms) -> Result<Box<dyn ExclusiveGuard>, LockError> {
    match kind {
        0 => keel.lock(name).terms(terms).acquire().await.map(boxed),
        1 => keel.rw_lock(name).read().terms(terms).acquire().await.map(boxed),
        2 => keel.rw_lock(name).write().terms(terms).acquire().await.map(boxed),
        _ => keel.striped_lock(name, 2)?.lock(b"42").terms(terms).acquire().await.map(boxed),
    }
}

async fn permits(round: &mut Round, keel: &Keel, terms: LockTerms, what: &str) {
    let (in_all, taken) = (*round.one(&COUNTS), *round.one(&COUNTS));
    let call = format!("{taken} permits of {in_all}: {what}");
    let acquired = keel.semaphore(&format!("{in_all}"), in_all).take(taken).terms(terms).acquire().await;
    let Some(permits) = round.result(&call, acquired, is_refusal) else { return };
    assert!(!permits.is_lost() && !permits.remaining().is_zero(), "{call}");
    assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::Released, "{call}");
    round.checked(1);
}
