//! The effects of a commit, and none of a rollback (U1, U2, U8).

use crate::sql::rig::{Rig, Sql};
use evenkeel::sql::{Left, Message, SqlError};
use evenkeel_protocol::queue::job::Note;
use evenkeel_protocol::queue::steps::Found;
use std::task::Poll;
use std::time::Duration;
use testkit::eventually;

on_each! {
    commit_is_followed_by_its_effects
    rollback_has_no_effects
    dropped_unit_of_work_is_rolled_back
    commit_survives_a_dropped_caller
    keyed_message_is_left_to_the_relay_without_a_warning
    every_effect_continues_the_trace
    last_committed_unit_of_work_decides_on_a_job
    restarted_job_version_exceeds_all_earlier_ones
    work_without_effects_leaves_its_outbox_row
    invalid_effect_is_rejected_at_once
}

// shows: U1, U2, sql::Work::commit
async fn commit_is_followed_by_its_effects<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    assert_eq!(rig.cached_units().await, 10, "no effect before the commit");
    assert!(rig.mail.find(&job).await.unwrap().is_none(), "nor sent");
    let committed = work.commit().await.unwrap();
    assert!(committed.carried_out && committed.left == Left::Nothing && committed.window.is_none());
    assert_eq!(rig.cached_units().await, 9);
    assert!(matches!(rig.mail.find(&job).await.unwrap(), Some(Found::Live { .. })));
    rig.keel.until_marked(&rig.pool).await;
    assert_eq!(rig.outbox_rows(2).await, 1);
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox WHERE due_at IS NOT NULL").await, 0);
}

/// Messages that wait for a relay because of their order are not failures.
// shows: hazard S17
async fn keyed_message_is_left_to_the_relay_without_a_warning<DB: Sql>(rig: Rig<DB>) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    work.publish(Message::new("orders", "sold").key("order/7")).unwrap();
    let committed = work.commit().await.unwrap();
    assert_eq!((committed.carried_out, committed.left), (false, Left::KeyedMessages));
}

// shows: U1, sql::Work::commit, sql::Work::rollback
async fn rollback_has_no_effects<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.invalidate(&rig.stock, &1).unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    work.rollback().await.unwrap();
    nothing_happened(&rig).await;
    assert!(rig.mail.find(&job).await.unwrap().is_none());
}

// shows: U1, sql::Work::rollback
async fn dropped_unit_of_work_is_rolled_back<DB: Sql>(rig: Rig<DB>) {
    assert_eq!(rig.cached_units().await, 10);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    work.purge(&rig.stock, &1).unwrap();
    drop(work);
    nothing_happened(&rig).await;
}

async fn nothing_happened<DB: Sql>(rig: &Rig<DB>) {
    assert_eq!(rig.units().await, 10);
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox").await, 0);
    DB::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE stock SET units = 5 WHERE id = 1").await.unwrap();
    assert_eq!(rig.cached_units().await, 10, "the cached value was left alone");
}

/// A dropped handler (its client hung up) must not leave half a commit.
// shows: U1, sql::Work::commit
async fn commit_survives_a_dropped_caller<DB: Sql>(rig: Rig<DB>) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    {
        let mut commit = std::pin::pin!(work.commit());
        std::future::poll_fn(|context| {
            assert!(commit.as_mut().poll(context).is_pending(), "no database answers that fast");
            Poll::Ready(())
        })
        .await;
    }
    let done = || async { (rig.outbox_rows(2).await == 1).then_some(()) };
    eventually("the unit of work is committed and carried out", done).await.unwrap();
    assert_eq!(rig.units().await, 9);
    assert!(rig.mail.find(&job).await.unwrap().is_some());
}

// shows: U8
async fn every_effect_continues_the_trace<DB: Sql>(rig: Rig<DB>) {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.trace(TRACE);
    let job = work.enqueue(rig.mail.job(&"sold".to_owned())).unwrap();
    work.publish(Message::new("orders", "sold").key("7")).unwrap();
    work.commit().await.unwrap();
    let Some(Found::Live { job, .. }) = rig.mail.find(&job).await.unwrap() else { panic!("the job waits") };
    assert!(job.spec.notes.iter().any(|note| matches!(note, Note::Trace(trace) if trace == TRACE)), "{job:?}");
    let with_trace = format!("SELECT COUNT(*) FROM evenkeel_outbox WHERE trace = '{TRACE}'");
    assert_eq!(rig.number(&with_trace).await, 1);
    let headers = "SELECT COUNT(*) FROM evenkeel_outbox_ordered WHERE LENGTH(headers) > 55";
    assert_eq!(rig.number(headers).await, 1, "the header traceparent");
}

/// Each work takes the next version of the job's name, so that a late repeat of an earlier one loses.
// shows: U1, hazard O5
async fn last_committed_unit_of_work_decides_on_a_job<DB: Sql>(rig: Rig<DB>) {
    let in_an_hour = Duration::from_secs(3_600);
    let mut versions = Vec::new();
    let mut id = None;
    for body in ["first", "second", "third"] {
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        let order = rig.mail.job(&body.to_owned()).id("order/7").delay(in_an_hour);
        let job = if id.is_none() { work.enqueue(order) } else { work.reschedule(order) }.unwrap();
        work.commit().await.unwrap();
        let Some(Found::Live { job: found, .. }) = rig.mail.find(&job).await.unwrap() else { panic!("the job waits") };
        assert_eq!(&found.spec.body[..], format!("\"{body}\"").as_bytes());
        versions.push(found.spec.version);
        id = Some(job);
    }
    assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    let id = id.unwrap();
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.revoke(&rig.mail, id).unwrap();
    work.commit().await.unwrap();
    assert!(
        matches!(rig.mail.find(&id).await.unwrap(), Some(Found::Ended(completion)) if Some(completion.version) > versions[2])
    );
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    let nameless = work.reschedule(rig.mail.job(&"fourth".to_owned())).unwrap_err();
    assert!(matches!(nameless, SqlError::Effect(_)), "{nameless}");
}

// shows: hazard O5
async fn restarted_job_version_exceeds_all_earlier_ones<DB: Sql>(rig: Rig<DB>) {
    let in_an_hour = Duration::from_secs(3_600);
    for body in ["first", "second"] {
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        let job = work.reschedule(rig.mail.job(&body.to_owned()).id("order/7").delay(in_an_hour)).unwrap();
        work.commit().await.unwrap();
        let Some(Found::Live { job: found, .. }) = rig.mail.find(&job).await.unwrap() else { panic!("the job waits") };
        assert_eq!(
            &found.spec.body[..],
            format!("\"{body}\"").as_bytes(),
            "it lost against what the queue has recorded"
        );
        // As retention does it.
        DB::run(&mut rig.pool.acquire().await.unwrap(), "DELETE FROM evenkeel_job_versions").await.unwrap();
    }
}

async fn work_without_effects_leaves_its_outbox_row<DB: Sql>(rig: Rig<DB>) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    DB::run(work.tx(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    assert!(work.commit().await.unwrap().carried_out);
    assert_eq!((rig.units().await, rig.outbox_rows(2).await), (9, 1));
}

// shows: sql::Effects::invalidate, sql::Effects::invalidate_at, sql::Effects::purge, sql::Effects::enqueue
// shows: sql::Effects::reschedule, sql::Effects::publish
async fn invalid_effect_is_rejected_at_once<DB: Sql>(rig: Rig<DB>) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    let unique = rig.mail.job(&"once".to_owned()).unique("key", Duration::from_secs(60));
    let error = work.enqueue(unique).unwrap_err();
    assert!(matches!(error, SqlError::Queue(_)) && error.to_string().contains("unique key"), "{error}");
    for message in [Message::new("", "x"), Message::new("t", "x").key(""), Message::new("t\0", "x")] {
        assert!(matches!(work.publish(message), Err(SqlError::Effect(_))));
    }
    assert!(work.publish(Message::new("t".repeat(256), "x")).is_err());
    work.commit().await.unwrap();
    assert_eq!(rig.outbox_rows(2).await, 1, "the unit of work is unchanged");
}
