//! Kinds of changes: rows, statements, definitions, XA.

use super::*;
use crate::rig::in_time;

const T: &str = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))";

// shows: spec/cdc.md
#[tokio::test]
async fn rows_are_returned_in_groups_in_the_order_of_the_log() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T, "CREATE TABLE u (id INT PRIMARY KEY)", "CREATE TABLE other (id INT)"]).await;
        let mut source = server.reading(&["t", "u"]).await;
        server
            .run(&[
                "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
                "START TRANSACTION",
                "UPDATE t SET id = 3, name = 'b' WHERE id = 1",
                "INSERT INTO other VALUES (1)",
                "INSERT INTO u VALUES (-1)",
                "DELETE FROM t WHERE id = 2",
                "COMMIT",
            ])
            .await;
        let events = server.read(&mut source).await;
        let shape = events.iter().map(|event| match event {
            Event::Begin { .. } => "begin".to_owned(),
            Event::Change(change) => line(change),
            Event::Commit { .. } => "commit".to_owned(),
            Event::Idle { .. } => "idle".to_owned(),
            other => format!("{other:?}"),
        });
        let expected = [
            "begin",
            "+shop.t id=1 name=a",
            "+shop.t id=2 name=NULL",
            "commit",
            "begin",
            "~shop.t id=1 name=a -> id=3 name=b",
            "+shop.u id=-1",
            "-shop.t id=2 name=NULL",
            "commit",
        ];
        assert_eq!(shape.collect::<Vec<_>>(), expected);
        let places = events.iter().filter_map(|event| match event {
            Event::Begin { position } | Event::Commit { position, .. } => Some(position.order),
            _ => None,
        });
        assert!(places.is_sorted_by(|a, b| a < b), "{events:?}");
    })
    .await;
}

#[tokio::test]
async fn idle_source_advances_over_changes_of_other_tables() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["FLUSH BINARY LOGS", "FLUSH BINARY LOGS"]).await;
        let end = server.end().await;
        loop {
            let events = source.next().await.unwrap();
            let [Event::Idle { position }] = &events[..] else { panic!("{events:?}") };
            if position.order >= end {
                break;
            }
        }
    })
    .await;
}

// shows: hazard LB8
#[tokio::test]
async fn rows_after_a_rotation_go_to_their_tables() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T, "CREATE TABLE u (id INT PRIMARY KEY, other BIGINT)"]).await;
        let mut source = server.reading(&["t", "u"]).await;
        server.run(&["INSERT INTO t VALUES (1, 'a')", "FLUSH BINARY LOGS", "INSERT INTO u VALUES (1, 2)"]).await;
        server.run(&["FLUSH TABLES", "INSERT INTO t VALUES (2, 'b')"]).await;
        let found = lines(&server.changes(&mut source).await);
        assert_eq!(found, ["+shop.t id=1 name=a", "+shop.u id=1 other=2", "+shop.t id=2 name=b"]);
    })
    .await;
}

// shows: hazard LB12, spec/cdc.md
#[tokio::test]
async fn compressed_events_are_read() {
    in_time(async {
        let mut server = Server::with(&["--log-bin-compress=ON", "--log-bin-compress-min-len=10"]).await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(2000))"]).await;
        let mut source = server.reading(&["t"]).await;
        let long = "x".repeat(1_000);
        let insert = format!("INSERT INTO t VALUES (1, '{long}')");
        server.run(&[&insert, "UPDATE t SET name = CONCAT(name, 'y')", "DELETE FROM t", "TRUNCATE TABLE t"]).await;
        let found = lines(&server.changes(&mut source).await);
        let expected = [
            format!("+shop.t id=1 name={long}"),
            format!("~shop.t id=1 name={long} -> id=1 name={long}y"),
            format!("-shop.t id=1 name={long}y"),
            "*shop.t".to_owned(),
        ];
        assert_eq!(found, expected);
    })
    .await;
}

// shows: hazard LB4, spec/cdc.md
#[tokio::test]
async fn statement_of_a_client_is_a_change_of_unknown_rows() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T, "CREATE TABLE u (id INT PRIMARY KEY)"]).await;
        let mut source = server.reading(&["t", "u"]).await;
        server.run(&["SET SESSION binlog_format = 'STATEMENT'", "INSERT INTO t VALUES (1, 'a'), (2, 'b')"]).await;
        server.run(&["/* app */ UPDATE t SET name = 'c'", "SET SESSION binlog_format = 'ROW'"]).await;
        server.run(&["DELETE FROM t WHERE id = 2"]).await;
        let found = lines(&server.changes(&mut source).await);
        // A trigger of the table may have changed the other one.
        assert_eq!(found, ["*shop.t", "*shop.u", "*shop.t", "*shop.u", "-shop.t id=2 name=c"]);
    })
    .await;
}

// shows: spec/cdc.md
#[tokio::test]
async fn definition_in_the_middle_changes_the_columns_of_later_rows() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T, "CREATE TABLE u (id INT)"]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["INSERT INTO t VALUES (1, 'a')", "ALTER TABLE t DROP COLUMN name, ADD COLUMN n INT FIRST"]).await;
        server.run(&["INSERT INTO t VALUES (5, 2)", "ALTER TABLE u ADD COLUMN x INT", "TRUNCATE t"]).await;
        server.run(&["RENAME TABLE t TO old, u TO t", "DROP TABLE `t`"]).await;
        let found = lines(&server.changes(&mut source).await);
        let expected = ["+shop.t id=1 name=a", "#shop.t", "+shop.t n=5 id=2", "*shop.t", "*shop.t", "*shop.t"];
        assert_eq!(found, expected);
    })
    .await;
}

#[tokio::test]
async fn rolled_back_rows_of_a_mixed_transaction_are_unknown_rows() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T, "CREATE TABLE m (id INT) ENGINE = MyISAM"]).await;
        let mut source = server.reading(&["t", "m"]).await;
        server.run(&["START TRANSACTION", "INSERT INTO t VALUES (1, 'a')", "INSERT INTO m VALUES (7)"]).await;
        server.run(&["ROLLBACK", "INSERT INTO t VALUES (2, 'b')"]).await;
        let found = lines(&server.changes(&mut source).await);
        assert!(found.contains(&"+shop.m id=7".to_owned()), "{found:?}");
        assert!(found.contains(&"+shop.t id=2 name=b".to_owned()), "{found:?}");
        let returned = found.iter().position(|line| line == "+shop.t id=1 name=a");
        let swept = found.iter().position(|line| line == "*shop.t");
        assert!(returned.is_none() || returned < swept, "{found:?}");
    })
    .await;
}

// shows: D3, hazard LB3, spec/cdc.md
#[tokio::test]
async fn xa_rows_wait_for_the_commit() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["XA START 'one'", "INSERT INTO t VALUES (1, 'a')", "XA END 'one'", "XA PREPARE 'one'"]).await;
        let mut other = server.session().await;
        sqlx::raw_sql("INSERT INTO t VALUES (2, 'b')").execute(&mut other).await.unwrap();
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=2 name=b"]);
        server.run(&["XA COMMIT 'one'"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=1 name=a"]);
        server.run(&["XA START 'two'", "INSERT INTO t VALUES (3, 'c')", "XA END 'two'", "XA PREPARE 'two'"]).await;
        server.run(&["XA ROLLBACK 'two'"]).await;
        server.run(&["XA START 'three'", "INSERT INTO t VALUES (4, 'd')", "XA END 'three'"]).await;
        server.run(&["XA COMMIT 'three' ONE PHASE"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=4 name=d"]);
    })
    .await;
}

// shows: hazard LB3, spec/cdc.md
#[tokio::test]
async fn xa_commit_after_a_restart_returns_the_prepared_rows() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["XA START 'one'", "INSERT INTO t VALUES (1, 'a')", "XA END 'one'", "XA PREPARE 'one'"]).await;
        let mut other = server.session().await;
        sqlx::raw_sql("INSERT INTO t VALUES (2, 'b')").execute(&mut other).await.unwrap();
        let saved = checkpoint(&server.read(&mut source).await);
        drop(source);
        let (mut source, _) = server.reading_from(&["t"], StartAt::Checkpoint(saved)).await;
        server.run(&["XA COMMIT 'one'"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=1 name=a"]);
    })
    .await;
}

// shows: hazard LB3
#[tokio::test]
async fn xa_commit_of_unseen_rows_is_a_change_of_unknown_rows() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&[T]).await;
        server.run(&["XA START 'one'", "INSERT INTO t VALUES (1, 'a')", "XA END 'one'", "XA PREPARE 'one'"]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["XA COMMIT 'one'"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["*shop.t"]);
    })
    .await;
}

#[tokio::test]
async fn large_transaction_is_returned_in_several_calls() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(200))"]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["INSERT INTO t SELECT seq, REPEAT('x', 100) FROM seq_1_to_30000"]).await;
        let (mut rows, mut longest, mut ended) = (0, 0, false);
        while !ended {
            let events = source.next().await.unwrap();
            let changes = changes(&events);
            rows += changes.len();
            longest = longest.max(changes.len());
            ended = events.iter().any(|event| matches!(event, Event::Commit { .. }));
        }
        assert_eq!(rows, 30_000);
        assert!(longest < 3_000, "{longest} changes in one call");
    })
    .await;
}
