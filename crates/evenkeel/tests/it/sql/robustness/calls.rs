//! Calls of the inbox, of operators and of locks with drawn arguments.

use super::{is_name, never, shown, text};
use crate::lock::side::robustness::terms;
use crate::robustness::Round;
use crate::sql::extremes::spans;
use crate::sql::rig::{Rig, Sql};
use evenkeel::Keel;
use evenkeel::clock::UnixMs;
use evenkeel::lock::{ExclusiveLocks, LockError, LockTerms, ReleaseOutcome};
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision, WorkState};
use evenkeel::sql::{MessageId, Once, ParkedMessageDecision, SqlError};
use std::collections::BTreeMap;
use std::time::Duration;

const LIMITS: [usize; 5] = [0, 1, 2, usize::MAX >> 1, usize::MAX];

/// What the inbox knows about a message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Seen,
    Parked,
    Released,
}

type Inboxed = BTreeMap<(String, Vec<u8>), Known>;

fn is_effect(error: &SqlError) -> bool {
    matches!(error, SqlError::Effect(_))
}

async fn count<DB: Sql>(rig: &Rig<DB>) -> usize {
    usize::try_from(rig.number("SELECT COUNT(*) FROM evenkeel_inbox WHERE consumer_group <> 'reader'").await).unwrap()
}

/// Transactions of several messages each; some are rolled back, and no refused call ends one.
pub(super) async fn inbox<DB: Sql>(round: &mut Round, rig: &Rig<DB>) {
    let mut known = Inboxed::new();
    for _ in 0..8 {
        let mut next = known.clone();
        let retention = *round.one(&[Duration::ZERO, Duration::from_nanos(1), Duration::MAX]);
        let inbox = rig.keel.inbox(&rig.pool).retention(retention);
        let mut transaction = rig.pool.begin().await.unwrap();
        for _ in 0..round.number(1, 8) {
            // Without zero bytes a name may be any bytes.
            let (group, name) = (text(round), text(round).into_bytes());
            let sent_at = *round.one(&[None, None, Some(0), Some(1), Some(u64::MAX)]);
            let mut message = MessageId::from(&name[..]);
            if let Some(sent_at) = sent_at {
                message = message.sent_at(UnixMs(sent_at));
            }
            let call = format!("message {} of {}, {sent_at:?}", shown(&String::from_utf8_lossy(&name)), shown(&group));
            let is_allowed = is_name(&group) && (1..=255).contains(&name.len());
            let once = inbox.once(&mut transaction, &group, message).await;
            let Some(once) = round.result(&call, once, |error| is_effect(error) && !is_allowed) else { continue };
            assert!(is_allowed, "accepted: {call}");
            let is_old = retention < Duration::MAX && sent_at.is_some_and(|sent_at| sent_at < u64::MAX);
            let (expected, after) = match next.get(&(group.clone(), name.clone())) {
                Some(Known::Seen) => (Once::Seen, Known::Seen),
                Some(Known::Parked) => (Once::Parked, Known::Parked),
                None if is_old => (Once::Parked, Known::Parked),
                Some(Known::Released) | None => (Once::Fresh, Known::Seen),
            };
            assert_eq!(once, expected, "{call} with a retention of {retention:?}");
            next.insert((group, name), after);
            round.checked(1);
        }
        if round.chance(30) {
            round.step("rolled back");
            transaction.rollback().await.unwrap();
        } else {
            transaction.commit().await.unwrap();
            known = next;
        }
        assert_eq!(round.result("delete old ones", inbox.run_once().await, never), Some(0));
        release(round, rig, &mut known).await;
        assert_eq!(count(rig).await, known.len());
    }
}

/// An operator lists and releases parked messages.
async fn release<DB: Sql>(round: &mut Round, rig: &Rig<DB>, known: &mut Inboxed) {
    let inbox = rig.keel.inbox(&rig.pool);
    let limit = *round.one(&[0, 1, u32::MAX]);
    let parked = round.result(format!("list {limit}"), inbox.parked(limit).await, never).unwrap();
    let names: Vec<_> =
        known.iter().filter(|(_, known)| **known == Known::Parked).map(|(name, _)| name.clone()).collect();
    assert_eq!(parked.len(), names.len().min(usize::try_from(limit).unwrap()));
    let (group, name) = if round.chance(50) && !names.is_empty() {
        round.one(&names).clone()
    } else {
        (text(round), text(round).into())
    };
    let how = *round.one(&[ParkedMessageDecision::Run, ParkedMessageDecision::Skip]);
    let released = inbox.release(&group, &name[..], how).await;
    // PostgreSQL refuses a zero byte in a text.
    let released = round.result(format!("release from {}: {how:?}", shown(&group)), released, |_| group.contains('\0'));
    let place = (group, name);
    assert!(released.is_none_or(|released| released == names.contains(&place)), "{released:?}");
    if released == Some(true) {
        let after = if how == ParkedMessageDecision::Run { Known::Released } else { Known::Seen };
        known.insert(place, after);
    }
    round.checked(2);
}

/// Nothing waits, so these calls change nothing.
pub(super) async fn operators<DB: Sql>(round: &mut Round, rig: &Rig<DB>) {
    let outbox = Outbox::new(&rig.pool);
    let before = outbox.stats().await.unwrap();
    for _ in 0..12 {
        let (limit, span) = (*round.one(&LIMITS), *round.one(&spans()));
        let (topic, key) = (text(round), text(round));
        let has_zero = topic.contains('\0') || key.contains('\0');
        let of = format!("{} {}", shown(&topic), shown(&key));
        match round.number(0, 4) {
            0 => {
                let state = *round.one(&[WorkState::Waiting, WorkState::Done, WorkState::Aborted, WorkState::Parked]);
                let works = outbox.units(state, None, limit).await;
                let works = round.result(format!("list {limit} {state:?}"), works, never).unwrap();
                let most = if state == WorkState::Done { usize::try_from(before.done).unwrap() } else { 0 };
                assert_eq!(works.len(), limit.min(most), "{limit} {state:?}");
            }
            1 => {
                let keys = outbox.keys(round.chance(50), (topic, key), limit).await;
                let keys = round.result(format!("list {limit} keys after {of}"), keys, |_| has_zero);
                assert!(keys.is_none_or(|keys| keys.len() <= limit));
            }
            2 => {
                let how = *round.one(&[ParkedDecision::Resend, ParkedDecision::Skip]);
                let released = outbox.release_key(&topic, &key, how).await;
                let released = round.result(format!("release {of}: {how:?}"), released, |_| has_zero);
                assert_ne!(released, Some(true), "{of} is not parked");
            }
            3 => assert_eq!(round.result(format!("purge {span:?}"), outbox.purge(span).await, never), Some(0)),
            _ => assert_eq!(round.result("retry", outbox.retry().await, never), Some(0)),
        }
        let now = outbox.stats().await.unwrap();
        assert_eq!((now.done, now.waiting, now.messages, now.keys), (before.done, 0, 0, before.keys));
        round.checked(1);
    }
}

/// What is acquired is held and can be released; then another process acquires it.
pub(super) async fn row_locks<DB: Sql>(round: &mut Round, rig: &Rig<DB>) {
    // Leases end by the clock of the database, so the processes follow the real one.
    let (locks, other) = (Keel::memory().row_locks(&rig.pool), Keel::memory().row_locks(&rig.pool));
    for _ in 0..16 {
        // The error of a lock that is held has its name as it is, and must be one line.
        let (name, (terms, what)) = (text(round), terms(round));
        let call = format!("lock {}: {what}", shown(&name));
        // The grant of a lease of 50 ms may come too late, or its release.
        let is_short = what.contains("50ms");
        let acquired = locks.acquire(&name, &terms).await;
        let refusal = |error: &LockError| match error {
            LockError::Invalid(_) => true,
            LockError::Busy { .. } => is_short,
            _ => false,
        };
        if let Some(guard) = round.result(&call, acquired, refusal) {
            let busy = other.try_acquire(&name, &LockTerms::default()).await.unwrap();
            assert!(busy.is_none() || is_short, "a second holder of {call}");
            drop(busy);
            let released = guard.release().await.unwrap();
            assert!(released == ReleaseOutcome::Released || is_short, "{call}: {released:?}");
        }
        let is_possible = (1..=512).contains(&name.len()) && !name.contains('\0');
        // One whose grant came too late leaves the queue of the database only later.
        let next = other.acquire(&name, &LockTerms::default()).await;
        let next = round.result(format!("lock {}", shown(&name)), next, |error| {
            matches!(error, LockError::Invalid(_)) && !is_possible
        });
        if let Some(guard) = next {
            assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "after {call}");
        }
        round.checked(1);
    }
    assert_eq!(locks.held().await.unwrap(), []);
    let unused = *round.one(&spans());
    let pruned = locks.prune(unused).await.unwrap();
    round.step(format!("pruned {pruned} that were unused for {unused:?}"));
}

/// Transactions that wait for locked rows for so long; no other transaction holds one.
pub(super) async fn waits<DB: Sql>(round: &mut Round, rig: &Rig<DB>) {
    for _ in 0..4 {
        let span = if round.chance(80) { Some(*round.one(&spans())) } else { None };
        let begun = rig.keel.begin_locking(&rig.pool, span).await;
        // SQLite's wait is one for the beginning itself.
        let is_short = span.is_some_and(|span| span < Duration::from_secs(1));
        let refusal = |error: &SqlError| matches!(error, SqlError::Busy(_)) && is_short;
        let Some(mut transaction) = round.result(format!("begin locking {span:?}"), begun, refusal) else { continue };
        let units = DB::number(transaction.tx().unwrap(), "SELECT units FROM stock WHERE id = 1").await.unwrap();
        assert_eq!(units, Some(rig.units().await));
        transaction.commit().await.unwrap();
        round.checked(1);
    }
}
