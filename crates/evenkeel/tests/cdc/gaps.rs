//! History that is lost has a name, and is never skipped in silence.

use crate::rig::{Calls, Rig, change, in_time, updated};
use evenkeel::cdc::source::{GapCause, Kind};
use evenkeel::cdc::{CdcError, GapPolicy};

#[track_caller]
fn assert_gap(error: &CdcError, cause: GapCause) {
    assert!(matches!(error, CdcError::Gap(gap) if gap.cause == cause), "{error}");
}

// shows: D7, hazard CD6, cdc::Capture::run
#[tokio::test]
async fn another_source_under_the_name_is_a_gap() {
    in_time(async {
        let rig = Rig::begun().await;
        rig.log.commit([updated(1)]);
        rig.log.rename("log 2");
        let calls = Calls::default();
        for _ in 0..2 {
            let error = rig.calls(&rig.log, &calls).run(std::future::pending()).await.unwrap_err();
            assert_gap(&error, GapCause::OtherSource);
        }
        assert_eq!((calls.ids(), rig.checkpoint().await.as_str()), (vec![], "0"));
        let status = rig.admin().status().await.unwrap().unwrap();
        assert_eq!((status.state.as_str(), status.lease_left.as_secs()), ("gap", 0), "another process may try at once");
        assert!(status.cause.unwrap().contains("other_source"));

        // Accepted: it goes on at the end of the log.
        let accepting = rig.calls(&rig.log, &calls).on_gap(GapPolicy::Continue);
        accepting.run(rig.log.until_confirmed(1)).await.unwrap();
        assert_eq!((calls.ids(), rig.checkpoint().await.as_str()), (vec![], "1"));
        rig.log.commit([updated(2)]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(2)).await.unwrap();
        assert_eq!(calls.ids(), [2]);
    })
    .await;
}

// shows: D7, hazard CD6, cdc::Source::start, cdc::Source::next, cdc::Source::barrier, cdc::Source::confirm
#[tokio::test]
async fn log_that_ends_before_the_checkpoint_is_a_gap() {
    in_time(async {
        let rig = Rig::begun().await;
        rig.log.commit([updated(1)]);
        let calls = Calls::default();
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(1)).await.unwrap();
        let restored = crate::rig::Log::default();
        let error = rig.calls(&restored, &calls).run(std::future::pending()).await.unwrap_err();
        assert_gap(&error, GapCause::RolledBack);
    })
    .await;
}

// shows: D7
#[tokio::test]
async fn truncate_of_a_captured_table_is_a_gap() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        rig.log.commit([change("orders", Kind::Truncate, None, None), change("users", Kind::Schema, None, None)]);
        rig.log.commit([updated(1)]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(2)).await.unwrap();
        rig.log.commit([change("users", Kind::Truncate, None, None)]);
        rig.log.commit([updated(2)]);
        let error = rig.calls(&rig.log, &calls).run(std::future::pending()).await.unwrap_err();
        assert_gap(&error, GapCause::Unnamed);
        assert_eq!(calls.ids(), [1]);
        let accepting = rig.calls(&rig.log, &calls).on_gap(GapPolicy::Continue);
        accepting.run(rig.log.until_confirmed(4)).await.unwrap();
        assert_eq!(calls.ids(), [1, 2]);
        let status = rig.admin().status().await.unwrap().unwrap();
        assert_eq!(status.state, "streaming");
        assert!(status.cause.unwrap().contains("public.users"), "the gap stays recorded");
    })
    .await;
}
