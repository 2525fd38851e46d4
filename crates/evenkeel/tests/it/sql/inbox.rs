//! U7: a handler's SQL effect happens once, however often its message comes.

use super::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::clock::UnixMs;
use evenkeel::sql::{Inbox, MessageId, Once, ParkedMessageDecision, SqlError};
use std::time::{Duration, SystemTime};

on_each_database! {
    message_is_new_once_for_each_group
    rollback_removes_the_inbox_entry
    second_worker_sees_the_outcome_of_the_first
    concurrent_workers_on_one_message_have_one_effect
    message_older_than_the_retention_is_parked
    retention_removes_old_but_not_parked_messages
    inbox_names_differ_by_every_byte
    extreme_inbox_calls_are_accepted_or_rejected
}

fn inbox<DB: Tested>(place: &TestDatabase<DB>) -> Inbox<DB> {
    Keel::memory().inbox(&place.pool)
}

/// Checks a message in a transaction of its own, and commits.
async fn ask<DB: Tested>(place: &TestDatabase<DB>, inbox: &Inbox<DB>, message: impl Into<MessageId> + Send) -> Once {
    let mut transaction = place.pool.begin().await.unwrap();
    let once = inbox.once(&mut transaction, "group", message).await.unwrap();
    transaction.commit().await.unwrap();
    once
}

// shows: U7, sql::Inbox
async fn message_is_new_once_for_each_group<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place);
    for expected in [Once::Fresh, Once::Seen, Once::Seen] {
        assert_eq!(ask(&place, &inbox, "payment/7").await, expected);
    }
    let mut transaction = place.pool.begin().await.unwrap();
    assert_eq!(inbox.once(&mut transaction, "another", "payment/7").await.unwrap(), Once::Fresh);
    assert_eq!(
        inbox.once(&mut transaction, "another", "payment/7").await.unwrap(),
        Once::Seen,
        "in one transaction, too"
    );
    // A known message leaves the transaction usable.
    assert_eq!(inbox.once(&mut transaction, "another", "payment/8").await.unwrap(), Once::Fresh);
    transaction.commit().await.unwrap();
    assert!(inbox.once(&mut place.pool.acquire().await.unwrap(), "", "x").await.is_err(), "a group has a name");
}

// shows: U7, sql::Inbox
async fn rollback_removes_the_inbox_entry<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place);
    let mut transaction = place.pool.begin().await.unwrap();
    assert_eq!(inbox.once(&mut transaction, "group", "payment/7").await.unwrap(), Once::Fresh);
    transaction.rollback().await.unwrap();
    assert_eq!(ask(&place, &inbox, "payment/7").await, Once::Fresh);
}

// shows: U7, sql::Inbox::once
async fn second_worker_sees_the_outcome_of_the_first<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place);
    for (message, commits, expected) in [("a", true, Once::Seen), ("b", false, Once::Fresh)] {
        let mut first = place.pool.begin_with(begin_for_write::<DB>()).await.unwrap();
        assert_eq!(inbox.once(&mut first, "group", message).await.unwrap(), Once::Fresh);
        let second = tokio::spawn({
            let (inbox, pool) = (inbox.clone(), place.pool.clone());
            async move {
                let mut second = pool.begin_with(begin_for_write::<DB>()).await.unwrap();
                let once = inbox.once(&mut second, "group", message).await.unwrap();
                second.commit().await.unwrap();
                once
            }
        });
        // It may have begun to wait, or not; the answer is the same.
        tokio::task::yield_now().await;
        if commits {
            first.commit().await.unwrap();
        } else {
            first.rollback().await.unwrap();
        }
        assert_eq!(second.await.unwrap(), expected, "{message}");
    }
}

/// SQLite can reject the first write of a transaction that has read before, so the transaction begins as a writer.
fn begin_for_write<DB: Tested>() -> &'static str {
    if DB::NAME == "SQLite" { "BEGIN IMMEDIATE" } else { "BEGIN" }
}

// shows: U7, sql::Inbox
async fn concurrent_workers_on_one_message_have_one_effect<DB: Tested>(place: TestDatabase<DB>) {
    place.run("CREATE TABLE effects (message BIGINT NOT NULL, worker BIGINT NOT NULL)").await;
    let inbox = inbox(&place);
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (inbox, pool) = (inbox.clone(), place.pool.clone());
            tokio::spawn(async move {
                for round in 0..20 {
                    // A deadlock is an ordinary error: the message is redelivered.
                    while attempt(&inbox, &pool, &format!("message/{round}"), (round + worker) % 3 == 0).await.is_err()
                    {
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!(place.number("SELECT COUNT(*) FROM effects").await, 20);
}

/// One delivery: the effect and the note in one transaction. Every third worker dies after its first effect, before the commit.
async fn attempt<DB: Tested>(
    inbox: &Inbox<DB>,
    pool: &sqlx::Pool<DB>,
    message: &str,
    dies_first: bool,
) -> Result<(), SqlError> {
    for dies in [dies_first, false] {
        let mut transaction = pool.begin_with(begin_for_write::<DB>()).await?;
        match inbox.once(&mut transaction, "group", message).await {
            Ok(Once::Fresh) => {
                _ = DB::run(&mut transaction, "INSERT INTO effects (message, worker) VALUES (1, 1)").await;
            }
            Ok(_) => {}
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                return Err(error);
            }
        }
        if !dies {
            transaction.commit().await?;
            return Ok(());
        }
    }
    Ok(())
}

// shows: U7, sql::Inbox::parked, sql::Inbox::release, sql::Inbox::run_once, spec/inbox.md
async fn message_older_than_the_retention_is_parked<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place).retention(Duration::from_secs(3_600));
    let now = SystemTime::now();
    let young = || MessageId::from("young").sent_at(now);
    let old = |name: &str| MessageId::from(name).sent_at(now - Duration::from_secs(2 * 3_600));
    assert_eq!(ask(&place, &inbox, young()).await, Once::Fresh);
    assert_eq!(ask(&place, &inbox, old("young")).await, Once::Seen, "a recorded message is recognized at any age");
    assert_eq!(ask(&place, &inbox, old("a")).await, Once::Parked);
    assert_eq!(ask(&place, &inbox, old("a")).await, Once::Parked);
    assert_eq!(ask(&place, &inbox, old("b")).await, Once::Parked);
    let parked = inbox.parked(10).await.unwrap();
    let mut names: Vec<_> = parked.iter().map(|parked| (&*parked.message, parked.met)).collect();
    names.sort_unstable();
    assert_eq!(names, [(&b"a"[..], 2), (b"b", 1)]);
    assert!(inbox.release("group", "a", ParkedMessageDecision::Run).await.unwrap());
    assert!(inbox.release("group", "b", ParkedMessageDecision::Skip).await.unwrap());
    assert!(!inbox.release("group", "young", ParkedMessageDecision::Run).await.unwrap(), "it is not parked");
    assert_eq!(inbox.parked(10).await.unwrap(), []);
    assert_eq!(ask(&place, &inbox, old("a")).await, Once::Fresh);
    assert_eq!(ask(&place, &inbox, old("a")).await, Once::Seen);
    assert_eq!(ask(&place, &inbox, old("b")).await, Once::Seen);
}

// shows: U7, sql::Inbox, sql::Inbox::parked, sql::Inbox::release, sql::Inbox::run_once
async fn retention_removes_old_but_not_parked_messages<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place).retention(Duration::from_secs(3_600));
    for name in ["old", "within the skew", "young"] {
        ask(&place, &inbox, name).await;
    }
    let ages_ago = MessageId::from("parked").sent_at(SystemTime::UNIX_EPOCH);
    assert_eq!(ask(&place, &inbox, ages_ago).await, Once::Parked);
    place.run("UPDATE evenkeel_inbox SET seen_at = seen_at - 4500000 WHERE state = 2").await;
    for (name, change) in [
        ("old", "UPDATE evenkeel_inbox SET seen_at = seen_at - 4500000 WHERE met = 10"),
        ("within the skew", "UPDATE evenkeel_inbox SET seen_at = seen_at - 3900000 WHERE met = 10"),
    ] {
        // The name as a value would need another statement for each database.
        let marked = if name == "old" {
            "UPDATE evenkeel_inbox SET met = 10 WHERE LENGTH(message_id) = 3"
        } else {
            "UPDATE evenkeel_inbox SET met = 10 WHERE LENGTH(message_id) = 15"
        };
        assert_eq!(place.run(marked).await, 1);
        assert_eq!(place.run(change).await, 1);
        place.run("UPDATE evenkeel_inbox SET met = 1 WHERE met = 10").await;
    }
    assert_eq!(inbox.run_once().await.unwrap(), 1);
    assert_eq!(inbox.run_once().await.unwrap(), 0);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_inbox").await, 3);
    assert_eq!(inbox.parked(10).await.unwrap().len(), 1);
    assert_eq!(ask(&place, &inbox, "within the skew").await, Once::Seen);
}

/// The default collations of MySQL treat `a`, `A` and `a ` as one key: the second and third message were dropped.
// shows: U7, sql::Inbox::once
async fn inbox_names_differ_by_every_byte<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place);
    for name in [&b"a"[..], b"A", b"a ", b"\xc3\xa4", b"a\x00", b"\xff"] {
        assert_eq!(ask(&place, &inbox, name).await, Once::Fresh, "{name:?}");
    }
}

/// Invalid messages are rejected before anything is sent, so the transaction stays usable.
// shows: hazard A26
async fn extreme_inbox_calls_are_accepted_or_rejected<DB: Tested>(place: TestDatabase<DB>) {
    let inbox = inbox(&place);
    let mut transaction = place.pool.begin().await.unwrap();
    for group in ["", &"g".repeat(256), &"g".repeat(1 << 20), "a\0b"] {
        let refused = inbox.once(&mut transaction, group, "x").await.unwrap_err();
        assert!(matches!(refused, SqlError::Effect(_)), "{refused}");
    }
    for message in [&[][..], &[7; 256], &vec![7; 20 << 20]] {
        let refused = inbox.once(&mut transaction, "group", message).await.unwrap_err();
        assert!(matches!(refused, SqlError::Effect(_)), "{refused}");
    }
    for (group, message) in [("g", &[0][..]), (&"g".repeat(255), &[0xff; 255])] {
        assert_eq!(inbox.once(&mut transaction, group, message).await.unwrap(), Once::Fresh);
    }
    transaction.commit().await.unwrap();

    for retention in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        let inbox = inbox.clone().retention(retention);
        for sent_at in [0, 1, u64::MAX] {
            let message = MessageId::from(format!("{retention:?} {sent_at}")).sent_at(UnixMs(sent_at));
            let is_old = retention < Duration::MAX && sent_at < u64::MAX;
            assert_eq!(ask(&place, &inbox, message).await, if is_old { Once::Parked } else { Once::Fresh });
        }
        assert_eq!(inbox.run_once().await.unwrap(), 0, "younger than what clocks may differ by");
    }
    assert!(inbox.parked(0).await.unwrap().is_empty());
    assert_eq!((inbox.parked(1).await.unwrap().len(), inbox.parked(u32::MAX).await.unwrap().len()), (1, 4));
    for how in [ParkedMessageDecision::Run, ParkedMessageDecision::Skip] {
        assert!(!inbox.release("", "", how).await.unwrap());
        assert!(!inbox.release(&"g".repeat(1 << 20), vec![7; 1 << 20].as_slice(), how).await.unwrap());
    }
}
