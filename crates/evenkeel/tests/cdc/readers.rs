//! One reader at a time, killed and paused at every step.

use crate::rig::{Calls, Log, Rig, dropped_after, in_time, updated};
use std::sync::Arc;
use tokio::sync::Notify;

/// A reader that is dropped at a wait leaves in SQL what a killed process leaves.
// shows: D2, hazard CD4, cdc::Capture
#[tokio::test]
async fn change_is_applied_wherever_a_reader_ends() {
    in_time(async {
        let rig = Rig::begun().await;
        let mut waits = 0;
        for group in 1.. {
            rig.log.commit([updated(1)]);
            let calls = Calls::default();
            let first = rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(group));
            let ended = dropped_after(waits, first).await;
            rig.end_lease().await;
            if ended.is_some() {
                break;
            }
            rig.log.forget_idle();
            // The first one may have saved the checkpoint: then there is nothing to confirm.
            rig.calls(&rig.log, &calls).run(rig.log.until_idle_at(group)).await.unwrap();
            let times = calls.ids().len();
            let is_saved = rig.checkpoint().await == group.to_string();
            assert!(is_saved && (1..=2).contains(&times), "dropped after {waits} waits: {times} calls");
            waits += 1;
        }
        assert!(waits > 5, "{waits} waits");
    })
    .await;
}

// shows: D2
#[tokio::test]
async fn effect_without_its_checkpoint_is_repeated() {
    in_time(async {
        let rig = Rig::begun().await;
        rig.log.commit([updated(1)]);
        let (calls, called) = (Calls::default(), Arc::new(Notify::new()));
        let (first, notify) = (calls.clone(), Arc::clone(&called));
        let hanging = move |changed| {
            let noted = first.note(changed);
            notify.notify_one();
            async {
                noted.await?;
                std::future::pending::<Result<(), std::io::Error>>().await
            }
        };
        let capture = rig.capture(&rig.log, |rule| rule.call("calls", hanging).key("id"));
        capture.run(called.notified()).await.unwrap();
        assert_eq!(rig.checkpoint().await, "0");
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(1)).await.unwrap();
        assert_eq!(calls.ids(), [1, 1]);
    })
    .await;
}

// shows: D8
#[tokio::test]
async fn two_readers_apply_each_change_once() {
    in_time(async {
        let rig = Rig::begun().await;
        let (calls, others) = (Calls::default(), Calls::default());
        for id in 1..=50 {
            rig.log.commit([updated(id)]);
        }
        let one = rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(50));
        let other = rig.calls(&rig.log, &others).run(rig.log.until_confirmed(50));
        let (one, other) = tokio::join!(one, other);
        assert!(one.is_ok() && other.is_ok());
        let mut both = [calls.ids(), others.ids()];
        both.sort_by_key(Vec::len);
        assert_eq!(both, [vec![], (1..=50).collect::<Vec<_>>()], "the other one was no reader");
    })
    .await;
}

/// The lease of a reader ends while it is paused; then it goes on where it was.
// shows: D2, D8, hazard CD5
#[tokio::test]
async fn checkpoint_of_a_paused_predecessor_is_refused() {
    in_time(async {
        let rig = Rig::begun().await;
        let (calls, log) = (Calls::default(), rig.log.clone());
        log.show_up_to(0);
        log.commit([updated(1)]);
        let story = async {
            log.until_asked(1).await;
            rig.end_lease().await;
            // The successor sees the same log and is not held.
            let successor = Log::default();
            successor.commit([updated(1)]);
            successor.commit([updated(2)]);
            let shutdown = successor.until_confirmed(2);
            rig.calls(&successor, &Calls::default()).run(shutdown).await.unwrap();
            assert_eq!(rig.checkpoint().await, "2");
            log.commit([updated(2)]);
            log.show_up_to(u64::MAX);
            // It notices at its save, and becomes the reader again, after the checkpoint of its successor.
            log.until_idle_at(2).await;
        };
        rig.calls(&log, &calls).run(story).await.unwrap();
        assert_eq!(rig.checkpoint().await, "2");
        assert_eq!(log.confirmed(), [0], "what it saved in vain is not confirmed");
        let fences: Vec<u64> = calls.all().iter().map(|changed| changed.fence).collect();
        assert_eq!(fences, [2], "its effect has a fence below that of its successor");
        assert_eq!(rig.admin().status().await.unwrap().unwrap().fence, 4);
    })
    .await;
}
