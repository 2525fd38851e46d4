//! What a relay logs.

use super::recorder::Recorder;
use super::stage::Stage;
use crate::log::Log;

/// Each pass logged the same failure, every few seconds, for as long as it lasted.
// shows: hazard BW13
#[tokio::test]
async fn failure_of_each_pass_is_logged_once() {
    let stage = Stage::set().await;
    let relay = stage.relay(&Recorder::new());
    let log = Log::begin();
    for _ in 0..2 {
        stage.sql("ALTER TABLE evenkeel_outbox RENAME TO hidden").await;
        for _ in 0..3 {
            relay.run_once().await.unwrap_err();
        }
        stage.sql("ALTER TABLE hidden RENAME TO evenkeel_outbox").await;
        relay.run_once().await.unwrap();
    }
    log.says(&["the relay could not process the outbox", "the relay could not process the outbox"]);
}
