//! Sequences of ordered messages: taken at the commit, without holes, in the order of the commits (U3's half of the producer).

use crate::sql::rig::{Rig, Sql};
use evenkeel::sql::Message;
use futures_util::future::join_all;

on_each! {
    rollback_leaves_no_gap_in_the_sequence
    concurrent_units_of_work_get_distinct_sequences
    keys_that_differ_in_case_or_spaces_stay_distinct
}

async fn publish<DB: Sql>(rig: &Rig<DB>, keys: &[&str]) {
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    for key in keys {
        work.publish(Message::new("orders", "state").key(*key)).unwrap();
    }
    work.commit().await.unwrap();
}

// shows: U3, hazard O1, spec/unit-of-work.md
async fn rollback_leaves_no_gap_in_the_sequence<DB: Sql>(rig: Rig<DB>) {
    publish(&rig, &["7"]).await;
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    work.publish(Message::new("orders", "never").key("7")).unwrap();
    work.rollback().await.unwrap();
    publish(&rig, &["7", "7"]).await;
    let rows = "SELECT COUNT(*) FROM evenkeel_outbox_ordered WHERE message_key = '7' AND sequence IN (1, 2, 3)";
    assert_eq!(rig.number(rows).await, 3);
    assert_eq!(rig.number("SELECT last_sequence FROM evenkeel_outbox_keys WHERE message_key = '7'").await, 3);
    assert_eq!(rig.outbox_rows(2).await, 2, "the rows of the units of work wait for nothing");
}

/// Sixteen units of work, each with the same two keys in one order or the other: no deadlock remains.
// shows: spec/unit-of-work.md
async fn concurrent_units_of_work_get_distinct_sequences<DB: Sql>(rig: Rig<DB>) {
    let orders: [&[&str]; 2] = [&["a", "b"], &["b", "a"]];
    join_all((0..16).map(|number| publish(&rig, orders[number % 2]))).await;
    for key in ["a", "b"] {
        let taken = format!("SELECT COUNT(DISTINCT sequence) FROM evenkeel_outbox_ordered WHERE message_key = '{key}'");
        let highest = format!("SELECT MAX(sequence) FROM evenkeel_outbox_ordered WHERE message_key = '{key}'");
        assert_eq!((rig.number(&taken).await, rig.number(&highest).await), (16, 16));
    }
}

// shows: spec/unit-of-work.md
async fn keys_that_differ_in_case_or_spaces_stay_distinct<DB: Sql>(rig: Rig<DB>) {
    publish(&rig, &["a", "A", "a ", "ä"]).await;
    assert_eq!(rig.number("SELECT COUNT(*) FROM evenkeel_outbox_keys").await, 4);
}
