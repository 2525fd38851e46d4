//! When loaders see what the log has.

use super::*;
use crate::rig::in_time;
use evenkeel::cdc::source::Barrier;

/// The position of the last beginning of a group.
fn begun(events: &[Event]) -> Option<Position> {
    events.iter().rev().find_map(|event| match event {
        Event::Begin { position } => Some(position.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn committed_group_is_visible() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        let mut source = server.reading(&["t"]).await;
        server.run(&["INSERT INTO t VALUES (1)"]).await;
        let events = server.read(&mut source).await;
        assert_eq!(source.barrier(&begun(&events).unwrap()).await.unwrap(), Barrier::Visible);
    })
    .await;
}

/// A commit that waits for a replica is in the log, and no statement sees it.
// shows: D1, hazard LB1
#[tokio::test]
async fn held_commit_is_not_visible_until_it_is_released() {
    in_time(async {
        let options = ["--rpl-semi-sync-master-timeout=3600000", "--rpl-semi-sync-master-wait-point=AFTER_SYNC"];
        let mut server = Server::with(&options).await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        server.run(&["SET GLOBAL rpl_semi_sync_master_enabled = ON"]).await;
        let mut source = server.reading(&["t"]).await;
        let mut writer = server.session().await;
        let writing =
            tokio::spawn(async move { sqlx::raw_sql("INSERT INTO t VALUES (1)").execute(&mut writer).await.unwrap() });
        let mut events = Vec::new();
        while !events.iter().any(|event| matches!(event, Event::Commit { .. })) {
            events.extend(source.next().await.unwrap());
        }
        let position = begun(&events).unwrap();
        assert_eq!(lines(&changes(&events)), ["+shop.t id=1"]);
        assert_eq!(count(&mut server).await, 0);
        assert_eq!(source.barrier(&position).await.unwrap(), Barrier::NotYet);
        assert!(!writing.is_finished());
        server.run(&["SET GLOBAL rpl_semi_sync_master_enabled = OFF"]).await;
        writing.await.unwrap();
        assert_eq!(source.barrier(&position).await.unwrap(), Barrier::Visible);
        assert_eq!(count(&mut server).await, 1);
    })
    .await;
}

// shows: cdc::Binlog::new, cdc::Binlog::primary
#[tokio::test]
async fn primary_that_is_another_server_is_unknown() {
    in_time(async {
        let mut server = Server::start().await;
        let mut other = Server::with(&["--server-id=2"]).await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        for url in [other.maria.url(), server.maria.url()] {
            let read_only = url == server.maria.url();
            let mut source = server.source(&["t"]).primary(&url).unwrap();
            source.start(StartAt::End { epoch: 1 }).await.unwrap();
            server.run(&["CREATE TABLE IF NOT EXISTS u (id INT)", "DROP TABLE u"]).await;
            let events = server.read(&mut source).await;
            if read_only {
                server.run(&["SET GLOBAL read_only = ON"]).await;
            }
            let answer = source.barrier(&begun(&events).unwrap()).await.unwrap();
            let expected = if read_only { "read-only" } else { "is server 2" };
            assert!(matches!(&answer, Barrier::Unknown(why) if why.contains(expected)), "{answer:?}");
        }
        other.run(&["DO 1"]).await;
    })
    .await;
}

async fn count(server: &mut Server) -> i64 {
    let mut other = server.session().await;
    sqlx::query_scalar("SELECT COUNT(*) FROM t").fetch_one(&mut other).await.unwrap()
}
