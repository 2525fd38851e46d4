//! `--write-mode behind`: writes are answered once they are on the machine's disk.

use super::client::{Answer, Client};
use super::server::Server;
use evenkeel::spool::{Obligation, Spool, SpoolOptions};
use serde_json::{Value, json};
use testkit::servers::{Postgres, PostgresOptions};
use testkit::{eventually, park};

const BEHIND: [&str; 2] = ["--write-mode", "behind"];

fn noted(answer: &Answer) {
    assert_eq!((answer.status, answer.consistency()), (202, "eventual"), "{}", answer.text());
}

async fn create(client: &Client, alias: &str, target: &str) -> Answer {
    client.json("POST", "/api/links", &json!({ "target": target, "alias": alias })).await
}

async fn edit(client: &Client, code: &str, patch: Value) -> Answer {
    client.json("PATCH", &format!("/api/links/{code}"), &patch).await
}

async fn leads_to(client: &Client, code: &str) -> Option<String> {
    client.get(&format!("/{code}")).await.header("location").map(str::to_owned)
}

/// Waits until the database has everything that this instance has accepted.
async fn settled(client: &Client) {
    let settled = eventually("the writes are in the database", || async {
        let ready = client.get("/readyz").await;
        (ready.status == 200 && ready.value()["writes_waiting"] == 0).then_some(())
    });
    settled.await.unwrap();
}

#[tokio::test]
async fn a_write_is_answered_first_and_in_the_database_soon() {
    let database = park::postgres_database().await.unwrap();
    let behind = Server::start_with(&[&["--database", &database.url][..], &BEHIND].concat());
    let api = &behind.client;
    let made = create(api, "news", "https://example.com/0").await;
    noted(&made);
    let link = made.value();
    assert_eq!(made.header("location"), Some("/api/links/news"));
    assert_eq!(made.header("etag"), Some(format!("\"{}\"", link["version"]).as_str()));
    assert_eq!(leads_to(api, "news").await.as_deref(), Some("https://example.com/0"));

    // A tag that was answered before the database had the link is good.
    let headers = [("content-type", "application/json"), ("if-match", made.header("etag").unwrap())];
    let edited = api.send("PATCH", "/api/links/news", &headers, br#"{"target":"https://example.com/1"}"#).await;
    noted(&edited);
    assert_eq!(edited.value()["target"], "https://example.com/1");
    let late = api.send("PATCH", "/api/links/news", &headers, br#"{"target":"https://example.com/2"}"#).await;
    late.problem(412, "version-conflict");
    assert_eq!(leads_to(api, "news").await.as_deref(), Some("https://example.com/1"));
    create(api, "news", "https://example.com/3").await.problem(409, "alias-taken");
    edit(api, "nobody", json!({ "target": "https://example.com/" })).await.problem(404, "unknown-code");
    api.delete("/api/links/nobody").await.problem(404, "unknown-code");
    let generated = api.json("POST", "/api/links", &json!({ "target": "https://example.com/generated" })).await;
    noted(&generated);

    settled(api).await;
    assert_eq!(api.get("/api/links/news").await.value()["version"], edited.value()["version"]);
    assert_eq!(leads_to(api, "news").await.as_deref(), Some("https://example.com/1"));
    noted(&edit(api, "news", json!({ "banned": true })).await);
    api.get("/news").await.problem(410, "link-banned");
    let deleted = api.delete("/api/links/news").await;
    noted(&deleted);
    assert_eq!(deleted.text(), "");
    api.get("/news").await.problem(404, "unknown-code");
    settled(api).await;
    api.get("/news").await.problem(404, "unknown-code");
    assert_eq!(api.get("/api/links").await.value()["total"], 1);
    assert_eq!(api.get("/api/conflicts").await.value(), json!({ "conflicts": [] }));
}

/// The database is away: what was accepted meanwhile is shown, survives the death of the process, and is in the database once, when
/// that is back.
#[tokio::test]
async fn what_was_accepted_survives_a_kill_and_is_written_once() {
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let url = postgres.url();
    let arguments = [&["--database", &url][..], &BEHIND].concat();
    let server = Server::start_with(&arguments);
    let api = &server.client;
    for alias in ["edited", "deleted"] {
        noted(&create(api, alias, "https://example.com/0").await);
    }
    settled(api).await;
    assert_eq!(leads_to(api, "edited").await.as_deref(), Some("https://example.com/0"));

    postgres.kill().unwrap();
    for number in 1..=3 {
        noted(&edit(api, "edited", json!({ "target": format!("https://example.com/{number}") })).await);
    }
    assert_eq!(leads_to(api, "edited").await.as_deref(), Some("https://example.com/3"), "on top of what is cached");
    noted(&api.delete("/api/links/deleted").await);
    noted(&create(api, "made", "https://example.com/made").await);
    noted(&edit(api, "made", json!({ "target": "https://example.com/moved" })).await);
    assert_eq!(leads_to(api, "made").await.as_deref(), Some("https://example.com/moved"), "it is shown");
    api.get("/deleted").await.problem(404, "unknown-code");
    // That nobody has such a link cannot be known now.
    noted(&edit(api, "nobody", json!({ "target": "https://example.com/" })).await);

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
    // It is shown to people, too, until somebody has seen to it.
    let home = api.get("/").await;
    assert!(home.text().contains("There was no such link any more."), "{}", home.text());
    let dismissed = api.form(&format!("/conflicts/{}", conflict["number"]), &[]).await;
    assert_eq!(dismissed.status, 303);
    assert_eq!(api.get("/api/conflicts").await.value(), json!({ "conflicts": [] }));
}

/// A write of a newer version was logged and thrown away: nobody could do it again.
#[tokio::test]
async fn what_nobody_can_read_is_kept_aside() {
    let mut server = Server::start_with(&BEHIND);
    noted(&create(&server.client, "before", "https://example.com/").await);
    settled(&server.client).await;
    assert!(server.terminate().await.success());
    let folder = server.data().join("writes");
    let spool = Spool::open(&folder, SpoolOptions::default()).await.unwrap();
    spool.append(Obligation::write("shortlink/links", "later", r#"{"write":"fold"}"#)).await.unwrap();
    spool.close().await.unwrap();
    let server = server.again(&BEHIND);
    noted(&create(&server.client, "after", "https://example.com/").await);
    settled(&server.client).await;
    assert_eq!(server.client.get("/api/links").await.value()["total"], 2);
    let kept = std::fs::read_to_string(folder.join("unreadable.jsonl")).unwrap();
    let line: Value = serde_json::from_str(kept.trim_end()).unwrap();
    let write: String = r#"{"write":"fold"}"#.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((&line["code"], &line["write"]), (&json!("later"), &json!(write)));
    assert!(server.log().contains("unreadable.jsonl"), "{}", server.log());
}

/// Killed after the database had a write, and before the spool noted that: the next run must not do it again.
#[tokio::test]
async fn a_write_that_the_database_has_is_not_repeated_after_a_kill() {
    let database = park::mariadb_database().await.unwrap();
    let arguments = [&["--database", &database.url][..], &BEHIND].concat();
    let mut server = Server::start_as(&arguments, ("EVENKEEL_CRASH_AT", "after_commit"));
    let headers = [("content-type", "application/json")];
    let body = br#"{"target":"https://example.com/","alias":"once"}"#;
    // It may die before its answer is out; the write is on the disk then, too.
    if let Ok(answer) = server.client.try_send("POST", "/api/links", &headers, body).await {
        noted(&answer);
    }
    assert!(!server.child.wait().await.unwrap().success());
    // Another instance, which writes at once, has the link, and deletes it.
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

/// Two instances accept the same alias while the database is away. One gets it; the other's write is kept, and told of.
#[tokio::test]
async fn conflicts_are_settled_by_the_database_and_kept() {
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let url = postgres.url();
    let arguments = [&["--database", &url][..], &BEHIND].concat();
    let (one, other) = (Server::start_with(&arguments), Server::start_with(&arguments));
    noted(&create(&one.client, "shared", "https://example.com/0").await);
    settled(&one.client).await;
    postgres.kill().unwrap();
    for (server, target) in [(&one, "https://example.com/one"), (&other, "https://example.com/other")] {
        noted(&create(&server.client, "same", target).await);
        noted(&edit(&server.client, "shared", json!({ "target": target })).await);
        assert_eq!(leads_to(&server.client, "same").await.as_deref(), Some(target), "each shows its own");
    }
    postgres.restart().await.unwrap();
    settled(&one.client).await;
    settled(&other.client).await;

    let read = async |code: &str| one.client.get(&format!("/api/links/{code}")).await.value();
    // Of the two edits the newer one has won, whichever came first.
    assert_eq!(read("shared").await["target"], "https://example.com/other");
    let winner = read("same").await["target"].as_str().unwrap().to_owned();
    assert!(["https://example.com/one", "https://example.com/other"].contains(&winner.as_str()));
    let conflicts = one.client.get("/api/conflicts").await.value();
    let kept = conflicts["conflicts"].as_array().unwrap();
    let taken: Vec<&Value> = kept.iter().filter(|kept| kept["reason"] == "taken").collect();
    let [loser] = &taken[..] else { panic!("{conflicts}") };
    assert_eq!(loser["code"], "same");
    assert_ne!(loser["write"]["target"], winner);
    // The older edit was overtaken if it came last; if it came first, both were done.
    for other in kept.iter().filter(|kept| kept["reason"] != "taken") {
        assert_eq!((&other["reason"], &other["code"]), (&json!("overtaken"), &json!("shared")));
        assert_eq!(other["write"]["target"], "https://example.com/one");
    }
    assert_eq!(other.client.get("/api/conflicts").await.value(), conflicts, "all instances tell of all");
}

/// As much waits as may: the next write is refused with when to come back, and nothing of it is kept.
#[tokio::test]
async fn a_full_spool_refuses_writes_until_there_is_room() {
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let url = postgres.url();
    let arguments = [&["--database", &url, "--spool-bytes-max", "65536"][..], &BEHIND].concat();
    let server = Server::start_with(&arguments);
    let api = &server.client;
    postgres.kill().unwrap();
    let long = |number: u32| format!("https://example.com/{number}/{}", "a".repeat(7_000));
    let mut accepted = 0;
    let refused = loop {
        let answer = create(api, &format!("long-{accepted}"), &long(accepted)).await;
        if answer.status != 202 {
            break answer;
        }
        accepted += 1;
        assert!(accepted < 20, "the spool is never full");
    };
    refused.problem(503, "writes-wait");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(accepted >= 5, "{accepted}");

    postgres.restart().await.unwrap();
    settled(api).await;
    noted(&create(api, "long-again", &long(99)).await);
    settled(api).await;
    let total = api.get("/api/links").await.value()["total"].as_u64();
    assert_eq!(total, Some(u64::from(accepted) + 1), "what was refused is not there");
}

/// What is accepted before a stop is in the database after it.
#[tokio::test]
async fn a_stop_waits_for_the_database() {
    let server = Server::start_with(&BEHIND);
    for number in 0..50 {
        noted(&create(&server.client, &format!("link-{number}"), "https://example.com/").await);
    }
    let server = server.restart().await;
    assert_eq!(server.client.get("/readyz").await.value()["writes_waiting"], 0);
    assert_eq!(server.client.get("/api/links").await.value()["total"], 50);
}

/// A limit on the size of files stands for a disk that is full: the writes to the spool fail in the same way.
#[tokio::test]
async fn full_disk_is_named_to_the_client_and_logged_once() {
    let database = park::postgres_database().await.unwrap();
    let arguments = [&["--database", &database.url][..], &BEHIND].concat();
    let limit = ["bash", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "-"];
    let server = Server::start_prefixed(&limit, &arguments);
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
        assert!(detail.contains("does not take the write") && !detail.contains("spool-bytes-max"), "{detail}");
    }
    assert!(refused > 10, "{refused} of 60");
    let log = server.log();
    let lines = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!((lines("the spool cannot be written"), lines("does not take the write")), (1, refused), "{log}");
    assert_eq!(lines("ERROR"), 1, "one line for each refusal, and one for the disk: {log}");
}
