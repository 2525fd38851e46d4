//! Databases that answer, and refuse writes.

use crate::web::server::Server;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};
use std::collections::BTreeSet;
use testkit::servers::{MariaDb, MariaDbOptions};
use testkit::{eventually, park};

/// A file size limit simulates a full disk. Regression: the answer was that the database cannot be reached, `/readyz` said "up", and writes were
/// refused until a restart.
// shows: hazard S35
#[tokio::test]
async fn full_disk_of_sqlite_is_named_until_there_is_room_again() {
    let server = Server::start_with_file_limit(1_024, &[]);
    assert_eq!(server.client.get("/readyz").await.status, 200);
    let target = format!("https://example.com/{}", "x".repeat(7_000));
    let mut refused = None;
    for _ in 0..400 {
        let answer = server.client.json("POST", "/api/links", &json!({ "target": target })).await;
        if answer.status != 201 {
            refused = Some(answer);
            break;
        }
    }
    let problem = refused.unwrap().problem(503, "unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("refuses writes: its disk is full"), "{problem}");
    let problem = eventually("the service is not ready", || async {
        let answer = server.client.get("/readyz").await;
        (answer.status != 200).then_some(answer)
    });
    let problem = problem.await.unwrap().problem(503, "unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("refuses writes: its disk is full"), "{problem}");
    // Reads go on.
    assert_eq!(server.client.get("/api/links").await.status, 200);
    server.child.lift_file_limit().unwrap();
    let ready = eventually("the service is ready again", || async {
        (server.client.get("/readyz").await.status == 200).then_some(())
    });
    ready.await.unwrap();
    let created = server.client.json("POST", "/api/links", &json!({ "target": target })).await;
    assert_eq!(created.status, 201, "{}", created.text());
}

/// Regression: after a failover the pool kept its connections to the former primary, and every write was refused for half an hour.
// shows: hazard S36
#[tokio::test]
async fn postgres_writes_go_on_after_a_failover() {
    let database = park::postgres_database().await.unwrap();
    let mut admin = PgConnection::connect(&database.url).await.unwrap();
    let name: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&mut admin).await.unwrap();
    let server = Server::start_with(&["--database", &database.url]);
    let create = async || server.client.json("POST", "/api/links", &json!({ "target": "https://example.com/" })).await;
    assert_eq!(create().await.status, 201);

    // The connections that are opened now are those to a replica, and stay so.
    let read_only = format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = on");
    sqlx::raw_sql(AssertSqlSafe(read_only)).execute(&mut admin).await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    sqlx::raw_sql(end).execute(&mut admin).await.unwrap();
    let refused = eventually("a write meets the replica", || async {
        let answer = create().await;
        answer.text().contains("it is read-only").then_some(answer)
    });
    refused.await.unwrap().problem(503, "unavailable");
    let ready = server.client.get("/readyz").await;
    let writable = format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = off");
    sqlx::raw_sql(AssertSqlSafe(writable)).execute(&mut admin).await.unwrap();
    assert_eq!(ready.status, 503, "{}", ready.text());
    let written = eventually("a write meets the primary", || async { (create().await.status == 201).then_some(()) });
    written.await.unwrap();
    let ready = eventually("all connections reach the primary", || async {
        (server.client.get("/readyz").await.status == 200).then_some(())
    });
    ready.await.unwrap();
}

/// As above. A server that was made a replica keeps its connections, and answers 1290 to every write of users without the right to ignore it.
// shows: hazard S36
#[tokio::test]
async fn mariadb_connections_are_replaced_after_a_failover() {
    let maria = MariaDb::start(MariaDbOptions::new()).await.unwrap();
    for statement in ["CREATE DATABASE links", "CREATE USER app IDENTIFIED BY 'sesame'", "GRANT ALL ON links.* TO app"]
    {
        maria.execute(statement).await.unwrap();
    }
    let mut admin = MySqlConnection::connect(&maria.url()).await.unwrap();
    let mut connections = async || {
        let ids = sqlx::query_scalar("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app'");
        ids.fetch_all(&mut admin).await.unwrap().into_iter().collect::<BTreeSet<i64>>()
    };
    let url = maria.database_url("links").replace("root@", "app:sesame@");
    let server = Server::start_with(&["--database", &url]);
    let create = async || server.client.json("POST", "/api/links", &json!({ "target": "https://example.com/" })).await;
    assert_eq!(create().await.status, 201);
    let before = connections().await;
    assert!(!before.is_empty());
    maria.execute("SET GLOBAL read_only = ON").await.unwrap();
    let refused = create().await.problem(503, "unavailable");
    assert!(refused["detail"].as_str().unwrap().contains("it is read-only"), "{refused}");
    assert_eq!(server.client.get("/readyz").await.status, 503);
    while {
        create().await;
        !before.is_disjoint(&connections().await)
    } {}
    maria.execute("SET GLOBAL read_only = OFF").await.unwrap();
    assert_eq!(create().await.status, 201);
    let ready = eventually("the service is ready", || async {
        (server.client.get("/readyz").await.status == 200).then_some(())
    });
    ready.await.unwrap();
}

/// What `--write-mode behind` makes of a write of `bad` that the database refuses, between two that it accepts.
async fn refused_write_is_a_conflict(server: &Server, bad: &str) -> Value {
    let api = &server.client;
    for (alias, target) in [("first", "https://example.com/1"), ("bad", bad), ("last", "https://example.com/2")] {
        let answer = api.json("POST", "/api/links", &json!({ "target": target, "alias": alias })).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
    let settled = eventually("no write waits", || async {
        let ready = api.get("/readyz").await;
        (ready.status == 200 && ready.value()["writes_waiting"] == 0).then_some(())
    });
    settled.await.unwrap();
    let codes = api.get("/api/links").await.value();
    assert_eq!(codes["total"], 2, "{codes}");
    let conflicts = api.get("/api/conflicts").await.value();
    let [conflict] = &conflicts["conflicts"].as_array().unwrap()[..] else { panic!("{conflicts}") };
    assert_eq!((&conflict["code"], &conflict["reason"]), (&json!("bad"), &json!("refused")), "{conflict}");
    assert_eq!(conflict["write"]["target"], bad, "{conflict}");
    conflict["detail"].clone()
}

/// Regression: neither the write nor its conflict could be stored, so it was retried for ever, and every later write waited behind it.
// shows: hazard T1, hazard T4
#[tokio::test]
async fn write_that_the_encoding_lacks_becomes_a_conflict() {
    let database = park::postgres_latin1_database().await.unwrap();
    let server = Server::start_with(&["--database", &database.url, "--write-mode", "behind"]);
    refused_write_is_a_conflict(&server, "https://example.com/\u{1f600}").await;
    // Without the spool the client learns it at once.
    let server = Server::start_with(&["--database", &database.url]);
    let body = json!({ "target": "https://example.com/\u{1f600}" });
    let refused = server.client.json("POST", "/api/links", &body).await.problem(422, "invalid-input");
    assert!(refused["detail"].as_str().unwrap().contains("does not accept"), "{refused}");
    let rows =
        json!({ "rows": [{ "target": "https://example.com/\u{1f600}" }, { "target": "https://example.com/3" }] });
    let imported = server.client.json("POST", "/api/import", &rows).await;
    assert_eq!(imported.status, 200, "{}", imported.text());
    let outcomes = imported.value();
    assert_eq!(outcomes["outcomes"][0]["outcome"], "refused", "{outcomes}");
    assert_eq!(outcomes["outcomes"][1]["outcome"], "created", "{outcomes}");
}

/// Regression: an error that a trigger raises has a class of its own (P0001), and was retried for ever.
// shows: hazard T1
#[tokio::test]
async fn write_that_a_trigger_refuses_becomes_a_conflict() {
    let database = park::postgres_database().await.unwrap();
    let server = Server::start_with(&["--database", &database.url, "--write-mode", "behind"]);
    let mut admin = PgConnection::connect(&database.url).await.unwrap();
    let trigger = "CREATE FUNCTION house() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.target LIKE '%bad' THEN \
        RAISE EXCEPTION 'not in this house'; END IF; RETURN NEW; END $$; \
        CREATE TRIGGER house BEFORE INSERT OR UPDATE ON links FOR EACH ROW EXECUTE FUNCTION house()";
    sqlx::raw_sql(trigger).execute(&mut admin).await.unwrap();
    let detail = refused_write_is_a_conflict(&server, "https://example.com/bad").await;
    assert_eq!(detail, "The database rejected the write: not in this house.");
}
