//! `--write-mode behind`: writes are acknowledged once they are on the local disk.

use crate::web::client::{Client, Response};
use crate::web::server::Server;
use evenkeel::spool::{PendingEffect, Spool, SpoolOptions};
use serde_json::{Value, json};
use testkit::servers::{Postgres, PostgresOptions};
use testkit::{eventually, park};

const BEHIND: [&str; 2] = ["--write-mode", "behind"];

fn accepted(answer: &Response) {
    assert_eq!((answer.status, answer.consistency()), (202, "eventual"), "{}", answer.text());
}

async fn create(client: &Client, alias: &str, target: &str) -> Response {
    client.json("POST", "/api/links", &json!({ "target": target, "alias": alias })).await
}

async fn edit(client: &Client, code: &str, patch: Value) -> Response {
    client.json("PATCH", &format!("/api/links/{code}"), &patch).await
}

async fn leads_to(client: &Client, code: &str) -> Option<String> {
    client.get(&format!("/{code}")).await.header("location").map(str::to_owned)
}

/// Waits until all accepted writes of this instance are in the database.
async fn settled(client: &Client) {
    let settled = eventually("the writes are in the database", || async {
        let ready = client.get("/readyz").await;
        (ready.status == 200 && ready.value()["writes_waiting"] == 0).then_some(())
    });
    settled.await.unwrap();
}

// shows: S11
#[tokio::test]
async fn write_behind_acknowledges_then_applies() {
    let database = park::postgres_database().await.unwrap();
    let behind = Server::start_with(&[&["--database", &database.url][..], &BEHIND].concat());
    let api = &behind.client;
    let made = create(api, "news", "https://example.com/0").await;
    accepted(&made);
    let link = made.value();
    assert_eq!(made.header("location"), Some("/api/links/news"));
    assert_eq!(made.header("etag"), Some(format!("\"{}\"", link["version"]).as_str()));
    assert_eq!(leads_to(api, "news").await.as_deref(), Some("https://example.com/0"));

    // The `ETag` of a pending write is valid.
    let headers = [("content-type", "application/json"), ("if-match", made.header("etag").unwrap())];
    let edited = api.send("PATCH", "/api/links/news", &headers, br#"{"target":"https://example.com/1"}"#).await;
    accepted(&edited);
    assert_eq!(edited.value()["target"], "https://example.com/1");
    let late = api.send("PATCH", "/api/links/news", &headers, br#"{"target":"https://example.com/2"}"#).await;
    late.problem(412, "version-conflict");
    assert_eq!(leads_to(api, "news").await.as_deref(), Some("https://example.com/1"));
    create(api, "news", "https://example.com/3").await.problem(409, "alias-taken");
    edit(api, "nobody", json!({ "target": "https://example.com/" })).await.problem(404, "unknown-code");
    api.delete("/api/links/nobody").await.problem(404, "unknown-code");
    let generated = api.json("POST", "/api/links", &json!({ "target": "https://example.com/generated" })).await;
    accepted(&generated);

    settled(api).await;
    assert_eq!(api.get("/api/links/news").await.value()["version"], edited.value()["version"]);
    assert_eq!(leads_to(api, "news").await.as_deref(), Some("https://example.com/1"));
    accepted(&edit(api, "news", json!({ "banned": true })).await);
    api.get("/news").await.problem(410, "link-banned");
    let deleted = api.delete("/api/links/news").await;
    accepted(&deleted);
    assert_eq!(deleted.text(), "");
    api.get("/news").await.problem(404, "unknown-code");
    settled(api).await;
    api.get("/news").await.problem(404, "unknown-code");
    assert_eq!(api.get("/api/links").await.value()["total"], 1);
    assert_eq!(api.get("/api/conflicts").await.value(), json!({ "conflicts": [] }));
}

/// Writes that were accepted while the database is unreachable are shown, survive a kill, and are applied once when it is back.
// shows: S11
#[tokio::test]
async fn accepted_writes_survive_kill_and_apply_once() {
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let url = postgres.url();
    let arguments = [&["--database", &url][..], &BEHIND].concat();
    let server = Server::start_with(&arguments);
    let api = &server.client;
    for alias in ["edited", "deleted"] {
        accepted(&create(api, alias, "https://example.com/0").await);
    }
    settled(api).await;
    assert_eq!(leads_to(api, "edited").await.as_deref(), Some("https://example.com/0"));

    postgres.kill().unwrap();
    for number in 1..=3 {
        accepted(&edit(api, "edited", json!({ "target": format!("https://example.com/{number}") })).await);
    }
    assert_eq!(leads_to(api, "edited").await.as_deref(), Some("https://example.com/3"), "applied to the cached link");
    accepted(&api.delete("/api/links/deleted").await);
    accepted(&create(api, "made", "https://example.com/made").await);
    accepted(&edit(api, "made", json!({ "target": "https://example.com/moved" })).await);
    assert_eq!(leads_to(api, "made").await.as_deref(), Some("https://example.com/moved"), "it is shown");
    api.get("/deleted").await.problem(404, "unknown-code");
    // Whether the link exists is unknown now.
    accepted(&edit(api, "nobody", json!({ "target": "https://example.com/" })).await);

    // Killed between the spool and the database.
    let mut server = server;
    server.child.kill().unwrap();
    postgres.restart().await.unwrap();
    let server = server.again(&arguments);
    let api = &server.client;
    settled(api).await;
    assert_eq!(leads_to(api, "edited").await.as_deref(), Some("https://example.com/3"));
    assert_eq!(leads_to(api, "made").await.as_deref(), Some("https://example.com/moved"));
    api.get("/deleted").await.problem(404, "unknown-code");
    assert_eq!(api.get("/api/links").await.value()["total"], 2, "each once");
    let conflicts = api.get("/api/conflicts").await.value();
    let [conflict] = &conflicts["conflicts"].as_array().unwrap()[..] else { panic!("{conflicts}") };
    assert_eq!((&conflict["code"], &conflict["reason"]), (&json!("nobody"), &json!("missing")));
    assert_eq!(conflict["write"]["target"], "https://example.com/");
    // The page shows it as well, until it is dismissed.
    let home = api.get("/").await;
    assert!(home.text().contains("The link no longer existed."), "{}", home.text());
    let dismissed = api.form(&format!("/conflicts/{}", conflict["number"]), &[]).await;
    assert_eq!(dismissed.status, 303);
    assert_eq!(api.get("/api/conflicts").await.value(), json!({ "conflicts": [] }));
}

/// Regression: a record of a newer version was logged and dropped.
// shows: S11
#[tokio::test]
async fn undecodable_write_is_quarantined() {
    let mut server = Server::start_with(&BEHIND);
    accepted(&create(&server.client, "before", "https://example.com/").await);
    settled(&server.client).await;
    assert!(server.terminate().await.success());
    let folder = server.data().join("writes");
    let spool = Spool::open(&folder, SpoolOptions::default()).await.unwrap();
    spool.append(PendingEffect::write("shortlink/links", "later", r#"{"write":"fold"}"#)).await.unwrap();
    spool.close().await.unwrap();
    let server = server.again(&BEHIND);
    accepted(&create(&server.client, "after", "https://example.com/").await);
    settled(&server.client).await;
    assert_eq!(server.client.get("/api/links").await.value()["total"], 2);
    let kept = std::fs::read_to_string(folder.join("unreadable.jsonl")).unwrap();
    let line: Value = serde_json::from_str(kept.trim_end()).unwrap();
    let write: String = r#"{"write":"fold"}"#.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((&line["code"], &line["write"]), (&json!("later"), &json!(write)));
    assert!(server.log().contains("unreadable.jsonl"), "{}", server.log());
}

/// The process is killed after the commit and before the spool records it: the next run must not apply the write again.
// shows: S11
#[tokio::test]
async fn applied_write_is_not_repeated_after_kill() {
    let database = park::mariadb_database().await.unwrap();
    let arguments = [&["--database", &database.url][..], &BEHIND].concat();
    let mut server = Server::start_as(&arguments, ("EVENKEEL_CRASH_AT", "after_commit"));
    let headers = [("content-type", "application/json")];
    let body = br#"{"target":"https://example.com/","alias":"once"}"#;
    // It may be killed before the response is sent; the write is on disk in that case as well.
    if let Ok(answer) = server.client.try_send("POST", "/api/links", &headers, body).await {
        accepted(&answer);
    }
    assert!(!server.child.wait().await.unwrap().success());
    // Another instance, in `through` mode, sees the link and deletes it.
    let other = Server::start_with(&["--database", &database.url]);
    assert_eq!(leads_to(&other.client, "once").await.as_deref(), Some("https://example.com/"));
    assert_eq!(other.client.delete("/api/links/once").await.status, 204);

    let server = server.again(&arguments);
    settled(&server.client).await;
    server.client.get("/once").await.problem(404, "unknown-code");
    assert_eq!(other.client.get("/api/links").await.value()["total"], 0, "it was made once, and deleted");
    let metrics = server.client.get("/metrics").await;
    let before = r#"shortlink_writes_settled_total{outcome="before"} 1"#;
    assert!(metrics.text().lines().any(|line| line == before), "{}", metrics.text());
}

/// Two instances accept the same alias while the database is unreachable. One gets it; the other's write becomes a conflict.
// shows: S11
#[tokio::test]
async fn conflicting_writes_are_recorded() {
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let url = postgres.url();
    let arguments = [&["--database", &url][..], &BEHIND].concat();
    let (one, other) = (Server::start_with(&arguments), Server::start_with(&arguments));
    accepted(&create(&one.client, "shared", "https://example.com/0").await);
    settled(&one.client).await;
    postgres.kill().unwrap();
    for (server, target) in [(&one, "https://example.com/one"), (&other, "https://example.com/other")] {
        accepted(&create(&server.client, "same", target).await);
        accepted(&edit(&server.client, "shared", json!({ "target": target })).await);
        assert_eq!(leads_to(&server.client, "same").await.as_deref(), Some(target), "each shows its own");
    }
    postgres.restart().await.unwrap();
    settled(&one.client).await;
    settled(&other.client).await;

    let read = async |code: &str| one.client.get(&format!("/api/links/{code}")).await.value();
    // The newer edit wins, whichever was applied first.
    assert_eq!(read("shared").await["target"], "https://example.com/other");
    let winner = read("same").await["target"].as_str().unwrap().to_owned();
    assert!(["https://example.com/one", "https://example.com/other"].contains(&winner.as_str()));
    let conflicts = one.client.get("/api/conflicts").await.value();
    let kept = conflicts["conflicts"].as_array().unwrap();
    let taken: Vec<&Value> = kept.iter().filter(|kept| kept["reason"] == "taken").collect();
    let [loser] = &taken[..] else { panic!("{conflicts}") };
    assert_eq!(loser["code"], "same");
    assert_ne!(loser["write"]["target"], winner);
    // The older edit is `overtaken` if it came last; if it came first, both were applied.
    for other in kept.iter().filter(|kept| kept["reason"] != "taken") {
        assert_eq!((&other["reason"], &other["code"]), (&json!("overtaken"), &json!("shared")));
        assert_eq!(other["write"]["target"], "https://example.com/one");
    }
    assert_eq!(other.client.get("/api/conflicts").await.value(), conflicts, "all instances list all conflicts");
}

/// The spool is full: the next write is refused with `Retry-After`, and nothing of it is stored.
// shows: S11
#[tokio::test]
async fn full_spool_refuses_writes_until_it_drains() {
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let url = postgres.url();
    let arguments = [&["--database", &url, "--spool-bytes-max", "65536"][..], &BEHIND].concat();
    let server = Server::start_with(&arguments);
    let api = &server.client;
    postgres.kill().unwrap();
    let long = |number: u32| format!("https://example.com/{number}/{}", "a".repeat(7_000));
    let mut pending = 0;
    let refused = loop {
        let answer = create(api, &format!("long-{pending}"), &long(pending)).await;
        if answer.status != 202 {
            break answer;
        }
        pending += 1;
        assert!(pending < 20, "the spool is never full");
    };
    refused.problem(503, "writes-wait");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(pending >= 5, "{pending}");

    postgres.restart().await.unwrap();
    settled(api).await;
    accepted(&create(api, "long-again", &long(99)).await);
    settled(api).await;
    let total = api.get("/api/links").await.value()["total"].as_u64();
    assert_eq!(total, Some(u64::from(pending) + 1), "the refused write was not stored");
}

/// Writes accepted before a shutdown are in the database after it.
// shows: S11
#[tokio::test]
async fn shutdown_drains_spool_into_database() {
    let server = Server::start_with(&BEHIND);
    for number in 0..50 {
        accepted(&create(&server.client, &format!("link-{number}"), "https://example.com/").await);
    }
    let server = server.restart().await;
    assert_eq!(server.client.get("/readyz").await.value()["writes_waiting"], 0);
    assert_eq!(server.client.get("/api/links").await.value()["total"], 50);
}

/// A file size limit simulates a full disk: writes to the spool fail in the same way.
// shows: hazard S11
#[tokio::test]
async fn full_disk_is_reported_to_client_and_logged_once() {
    let database = park::postgres_database().await.unwrap();
    let arguments = [&["--database", &database.url][..], &BEHIND].concat();
    let server = Server::start_with_file_limit(64, &arguments);
    let target = format!("https://example.com/{}", "x".repeat(1_900));
    let mut refused = 0;
    for number in 0..60 {
        let answer = create(&server.client, &format!("link-{number}"), &target).await;
        if answer.status == 202 {
            continue;
        }
        refused += 1;
        let problem = answer.problem(503, "unavailable");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("cannot write to its disk") && !detail.contains("spool-bytes-max"), "{detail}");
    }
    assert!(refused > 10, "{refused} of 60");
    let log = server.log();
    let lines = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!((lines("the spool cannot be written"), lines("cannot write to its disk")), (1, refused), "{log}");
    assert_eq!(lines("ERROR"), 1, "one line for each refusal, and one for the disk: {log}");
}
