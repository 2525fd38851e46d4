//! Restarts, and logs that do not continue a checkpoint.

use super::*;
use crate::rig::in_time;
use evenkeel::cdc::source::GapCause;

const T: &str = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))";

/// A checkpoint behind one row.
async fn saved(server: &mut Server) -> Checkpoint {
    let mut source = server.reading(&["t"]).await;
    server.run(&["INSERT INTO t VALUES (1, 'a')"]).await;
    checkpoint(&server.read(&mut source).await)
}

#[tokio::test]
async fn restart_returns_what_follows_the_checkpoint() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let saved = saved(&mut server).await;
        server.run(&["INSERT INTO t VALUES (2, 'b')", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, 'c')"]).await;
        let (mut source, started) = server.reading_from(&["t"], StartAt::Checkpoint(saved.clone())).await;
        assert_eq!((&started.position.text, &started.identity), (&saved.position, &saved.identity));
        let events = server.read(&mut source).await;
        assert_eq!(lines(&changes(&events)), ["+shop.t id=2 name=b", "+shop.t id=3 name=c"]);
        let (mut source, _) = server.reading_from(&["t"], StartAt::Checkpoint(checkpoint(&events))).await;
        server.run(&["DELETE FROM t WHERE id = 1"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["-shop.t id=1 name=a"]);
    })
    .await;
}

// shows: hazard LB7
#[tokio::test]
async fn restart_from_an_idle_position_in_a_later_file() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["INSERT INTO t VALUES (1, 'a')"]).await;
        let mut saved = checkpoint(&server.read(&mut source).await);
        server.run(&["FLUSH BINARY LOGS"]).await;
        let events = server.read(&mut source).await;
        let Some(Event::Idle { position }) = events.last() else { panic!("{events:?}") };
        saved.position.clone_from(&position.text);
        server.run(&["INSERT INTO t VALUES (2, 'b')"]).await;
        let (mut source, _) = server.reading_from(&["t"], StartAt::Checkpoint(saved.clone())).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=2 name=b"]);
        // Also when the file of the last group is gone.
        server.purge("bin.000002").await;
        let (mut source, _) = server.reading_from(&["t"], StartAt::Checkpoint(saved)).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=2 name=b"]);
    })
    .await;
}

#[tokio::test]
async fn restart_of_the_server_continues_the_log() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let saved = saved(&mut server).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["FLUSH BINARY LOGS", "INSERT INTO t VALUES (2, 'b')"]).await;
        server.read(&mut source).await;
        sqlx::raw_sql("SHUTDOWN").execute(&mut server.conn).await.unwrap();
        let lost = loop {
            match source.next().await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(lost, SourceError::Unavailable(_)), "{lost:?}");
        assert!(matches!(refusal(&server, saved).await, SourceError::Unavailable(_)));
    })
    .await;
}

// shows: D7, hazard LB7, spec/cdc.md
#[tokio::test]
async fn purged_log_is_a_gap() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let saved = saved(&mut server).await;
        server.run(&["FLUSH BINARY LOGS"]).await;
        server.purge("bin.000002").await;
        expect_gap(&refusal(&server, saved).await, GapCause::Purged, "bin.000002");
    })
    .await;
}

// shows: D7, hazard LB6, spec/cdc.md
#[tokio::test]
async fn reset_log_is_a_gap() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let mut saved = saved(&mut server).await;
        server.run(&["RESET MASTER"]).await;
        expect_gap(&refusal(&server, saved.clone()).await, GapCause::RolledBack, "ends at");
        // It has grown past the checkpoint, with the same statements.
        server.run(&["DROP TABLE t", T, "INSERT INTO t VALUES (1, 'a')", "CREATE DATABASE more"]).await;
        server.run(&["INSERT INTO t VALUES (2, 'a')"]).await;
        expect_gap(&refusal(&server, saved.clone()).await, GapCause::AnchorMismatch, "");
        // Also without a group to compare.
        saved.anchor.0.clear();
        saved.position = "bin.000001:256 born=1".to_owned();
        expect_gap(&refusal(&server, saved.clone()).await, GapCause::AnchorMismatch, "created at");
        saved.position = "bin.000009:256 born=1".to_owned();
        expect_gap(&refusal(&server, saved).await, GapCause::RolledBack, "bin.000009");
    })
    .await;
}

// shows: D7, hazard LB6
#[tokio::test]
async fn another_group_at_the_place_of_the_last_one_is_a_gap() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let saved = saved(&mut server).await;
        for (from, to) in [("id=0-1-", "id=0-2-"), ("crc=", "crc=1"), ("at=1", "at=2"), (":", ":1")] {
            let mut other = saved.clone();
            other.anchor.0 = other.anchor.0.replacen(from, to, 1);
            let error = refusal(&server, other).await;
            assert!(matches!(error, SourceError::Gap(_)), "{from}: {error:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn another_server_is_a_gap() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let mut saved = saved(&mut server).await;
        saved.identity = Identity("mariadb server_id=2".to_owned());
        expect_gap(&refusal(&server, saved).await, GapCause::OtherSource, "server_id=2");
    })
    .await;
}

fn expect_gap(error: &SourceError, cause: GapCause, text: &str) {
    let SourceError::Gap(gap) = error else { panic!("{error:?}") };
    assert_eq!(gap.cause, cause, "{error:?}");
    assert!(gap.detail.contains(text), "{error:?}");
}
