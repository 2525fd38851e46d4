//! Refusals: each names what repairs it, and that is executed.

use super::*;
use crate::rig::in_time;

/// The refusal's text and its remedy.
async fn refused(source: &Binlog) -> (String, String) {
    match source.preflight().await.unwrap_err() {
        SourceError::Refused { what, remedy } => (what, remedy),
        other => panic!("{other:?}"),
    }
}

// shows: D9, cdc::Binlog::preflight
#[tokio::test]
async fn printed_statement_repairs_each_setting() {
    in_time(async {
        let wrong = ["--binlog-format=MIXED", "--binlog-row-image=MINIMAL", "--binlog-row-metadata=MINIMAL"];
        let mut server = Server::with(&wrong).await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        let source = server.source(&["t"]);
        let expected = [
            ("binlog_format is MIXED, and the source needs ROW", "SET GLOBAL binlog_format = 'ROW'"),
            ("binlog_row_image is MINIMAL, and the source needs FULL", "SET GLOBAL binlog_row_image = 'FULL'"),
            ("binlog_row_metadata is MINIMAL, and the source needs FULL", "SET GLOBAL binlog_row_metadata = 'FULL'"),
        ];
        for (what, remedy) in expected {
            let found = refused(&source).await;
            assert_eq!((found.0.as_str(), found.1.as_str()), (what, remedy));
            server.run(&[&found.1]).await;
        }
        source.preflight().await.unwrap();
    })
    .await;
}

// shows: D9, cdc::Binlog::preflight
#[tokio::test]
async fn printed_grant_repairs_each_privilege() {
    in_time(async {
        let mut server = Server::start().await;
        server
            .run(&["CREATE TABLE t (id INT PRIMARY KEY)", "CREATE USER 'o\\'hara'@'127.0.0.1' IDENTIFIED BY 'p/w'"])
            .await;
        let url = server.maria.url().replace("root@", "o'hara:p%2Fw@");
        let mut source = Binlog::new(&url, 4_711, vec![table("t")]).unwrap();
        let expected = [
            "GRANT REPLICATION SLAVE ON *.* TO 'o''hara'@'127.0.0.1'",
            "GRANT BINLOG MONITOR ON *.* TO 'o''hara'@'127.0.0.1'",
        ];
        for remedy in expected {
            let found = refused(&source).await;
            assert_eq!(found.1, remedy);
            server.run(&[&found.1]).await;
        }
        let (what, _) = refused(&source).await;
        assert_eq!(what, "shop.t does not exist, or the user may not see it");
        server.run(&["GRANT SELECT ON shop.t TO 'o\\'hara'@'127.0.0.1'"]).await;
        source.preflight().await.unwrap();
        source.start(StartAt::End { epoch: 1 }).await.unwrap();
        server.run(&["INSERT INTO t VALUES (1)"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["+shop.t id=1"]);
    })
    .await;
}

// shows: D9
#[tokio::test]
async fn privileges_through_a_role_are_not_refused() {
    in_time(async {
        let mut server = Server::start().await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY)", "CREATE ROLE reader", "CREATE USER cdc"]).await;
        server.run(&["GRANT REPLICATION SLAVE, BINLOG MONITOR, SELECT ON *.* TO reader", "GRANT reader TO cdc"]).await;
        server.run(&["SET DEFAULT ROLE reader FOR cdc"]).await;
        let source = Binlog::new(&server.maria.url().replace("root@", "cdc@"), 4_711, vec![table("t")]).unwrap();
        source.preflight().await.unwrap();
    })
    .await;
}

// shows: cdc::Binlog::preflight
#[tokio::test]
async fn lines_of_the_configuration_are_named() {
    in_time(async {
        let server = Server::with(&["--skip-log-bin"]).await;
        let (what, remedy) = refused(&server.source(&[])).await;
        assert_eq!(what, "log_bin is OFF: the server writes no log of changes");
        let line = "Write `log_bin = bin` below [mariadbd] of the server's configuration and restart the server";
        assert_eq!(remedy, line);

        let mut server = Server::with(&["--binlog-ignore-db=shop"]).await;
        server.run(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        let (what, remedy) = refused(&server.source(&["t"])).await;
        assert_eq!(what, "binlog_ignore_db is shop: changes of shop.t are not logged");
        assert_eq!(remedy, "Remove binlog_ignore_db from the server's configuration and restart the server");
    })
    .await;
}

// shows: hazard LB11
#[tokio::test]
async fn child_of_a_cascade_needs_its_parent() {
    in_time(async {
        let mut server = Server::start().await;
        let child = "CREATE TABLE roles (id INT PRIMARY KEY, user INT, \
             CONSTRAINT roles_user FOREIGN KEY (user) REFERENCES users (id) ON DELETE CASCADE)";
        server.run(&["CREATE TABLE users (id INT PRIMARY KEY)", child]).await;
        let (what, remedy) = refused(&server.source(&["roles"])).await;
        assert_eq!(
            what,
            "rows of shop.roles change with those of shop.users (foreign key roles_user), and the log omits them"
        );
        assert_eq!(remedy, "Give the source shop.users as well, with a rule for what depends on its rows");
        server.source(&["users", "roles"]).preflight().await.unwrap();
        server.source(&["users"]).preflight().await.unwrap();
        // That is what the log has of it.
        server.run(&["INSERT INTO users VALUES (1)", "INSERT INTO roles VALUES (1, 1)"]).await;
        let mut source = server.reading(&["users", "roles"]).await;
        server.run(&["DELETE FROM users"]).await;
        assert_eq!(lines(&server.changes(&mut source).await), ["-shop.users id=1"]);
    })
    .await;
}

#[tokio::test]
async fn server_id_of_the_server_itself_is_refused() {
    in_time(async {
        let server = Server::start().await;
        let source = Binlog::new(&server.maria.url(), 1, Vec::new()).unwrap();
        let (what, remedy) = refused(&source).await;
        assert_eq!(what, "the source registers as server 1, and the server's own server_id is 1");
        assert_eq!(remedy, "Give the source another server id, such as 1001");
    })
    .await;
}

// shows: cdc::Binlog::new, cdc::Binlog::primary
#[test]
fn extreme_addresses_are_refused() {
    for (url, what) in [
        ("", "the address of the source is not a URL: relative URL without a base"),
        ("shop", "the address of the source is not a URL: relative URL without a base"),
        ("postgres://localhost", "the address of the source begins with postgres:"),
        ("mysql://localhost/?ssl-mode=maybe", "the address of the source has the unknown ssl-mode MAYBE"),
    ] {
        let error = Binlog::new(url, u32::MAX, Vec::new()).unwrap_err();
        let good = Binlog::new("mysql://localhost", 0, Vec::new()).unwrap();
        assert_eq!(good.primary(url).unwrap_err().to_string(), error.to_string());
        assert!(matches!(&error, SourceError::Refused { what: found, .. } if found == what), "{error:?}");
    }
}
