//! Redis fails during writes.
//!
//! The outage lasts for a few edits. `EVENKEEL_PLUG_SECONDS=60` makes it last a minute, with edits all the time.

use crate::web::client::Client;
use crate::web::server::Server;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgPool;
use std::time::{Duration, Instant};
use testkit::servers::{Redis, RedisOptions};
use testkit::{eventually, park};

/// What happens to Redis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plug {
    /// It is killed, and comes back empty.
    Killed,
    /// It hangs, and goes on with what it had.
    Hung,
}

/// Edits during an outage, at least.
const EDITS_MIN: u32 = 4;

fn outage_min() -> Duration {
    let seconds = std::env::var("EVENKEEL_PLUG_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

async fn wait_for_redis_state(client: &Client, state: &str) {
    let reported = eventually("the service notices", || async {
        (client.get("/readyz").await.value()["redis"] == state).then_some(())
    });
    reported.await.unwrap();
}

async fn leads_to(client: &Client, code: &str) -> Option<String> {
    client.get(&format!("/{code}")).await.header("location").map(str::to_owned)
}

fn in_ms(ms: i64) -> String {
    (Timestamp::now() + SignedDuration::from_millis(ms)).to_string()
}

// shows: S4
#[tokio::test]
async fn edits_and_expiries_are_applied_after_redis_was_killed() {
    nothing_is_lost(Plug::Killed).await;
}

// shows: S4
#[tokio::test]
async fn edits_and_expiries_are_applied_after_redis_hung() {
    nothing_is_lost(Plug::Hung).await;
}

async fn nothing_is_lost(plug: Plug) {
    let database = park::postgres_database().await.unwrap();
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let start = || Server::start_with(&["--database", &database.url, "--redis", &redis.url()]);
    let (writer, reader) = (start(), start());
    let api = &writer.client;
    for alias in ["edited", "banned", "deleted"] {
        api.make(&json!({ "target": "https://example.com/0", "alias": alias })).await;
        assert_eq!(leads_to(&reader.client, alias).await.as_deref(), Some("https://example.com/0"));
    }
    // The first one expires during the outage; the expiry of the second one is removed during it.
    api.make(&json!({ "target": "https://example.com/0", "alias": "ending", "expires_at": in_ms(3_000) })).await;
    api.make(&json!({ "target": "https://example.com/0", "alias": "freed", "expires_at": in_ms(3_600_000) })).await;
    assert_eq!(leads_to(&reader.client, "freed").await.as_deref(), Some("https://example.com/0"));

    match plug {
        Plug::Killed => redis.kill().unwrap(),
        Plug::Hung => redis.pause().unwrap(),
    }
    let (mut number, mut last, began) = (0, String::new(), Instant::now());
    while number < EDITS_MIN || began.elapsed() < outage_min() {
        number += 1;
        last = format!("https://example.com/{number}");
        let edited = api.json("PATCH", "/api/links/edited", &json!({ "target": last })).await;
        assert_eq!((edited.status, edited.consistency()), (200, "eventual"));
        assert_eq!(leads_to(api, "edited").await.as_deref(), Some(last.as_str()), "the writer knows");
    }
    let banned = api.json("PATCH", "/api/links/banned", &json!({ "banned": true })).await;
    assert_eq!((banned.status, banned.consistency()), (200, "eventual"));
    assert_eq!(api.delete("/api/links/deleted").await.status, 204);
    let freed = api.json("PATCH", "/api/links/freed", &json!({ "expires_at": null })).await;
    assert_eq!(freed.status, 200);
    let short = json!({ "target": "https://example.com/0", "alias": "short", "expires_at": in_ms(500) });
    assert_eq!(api.json("POST", "/api/links", &short).await.status, 201);
    for alias in ["short", "ending"] {
        let over = eventually("the end passes", || async {
            (api.get(&format!("/{alias}")).await.status == 410).then_some(())
        });
        over.await.unwrap();
    }

    match plug {
        Plug::Killed => redis.restart().await.unwrap(),
        Plug::Hung => redis.resume().unwrap(),
    }
    wait_until_carried_out(&database.url).await;
    for client in [&writer.client, &reader.client] {
        wait_for_redis_state(client, "up").await;
        let arrived = eventually("the last edit is there", || async {
            (leads_to(client, "edited").await.as_deref() == Some(last.as_str())).then_some(())
        });
        arrived.await.unwrap();
        for _ in 0..20 {
            assert_eq!(leads_to(client, "edited").await.as_deref(), Some(last.as_str()), "and stays");
        }
        client.get("/banned").await.problem(410, "link-banned");
        client.get("/deleted").await.problem(404, "unknown-code");
        assert_eq!(leads_to(client, "freed").await.as_deref(), Some("https://example.com/0"));
        client.get("/short").await.problem(410, "link-expired");
    }
}

/// Waits until the outbox is empty and the expired links are marked, each once. Nothing may be parked.
async fn wait_until_carried_out(url: &str) {
    let pool = PgPool::connect(url).await.unwrap();
    let number = async |sql: &'static str| sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap();
    let done = eventually("everything is carried out", async || {
        // Read the links first: the transaction that marks a link adds a row to the outbox.
        let ended = number("SELECT count(*) FROM links WHERE ended_at IS NOT NULL").await;
        let left = number("SELECT count(*) FROM evenkeel_outbox WHERE state = 1").await;
        (ended == 2 && left == 0).then_some(())
    });
    done.await.unwrap();
    assert_eq!(number("SELECT count(*) FROM evenkeel_outbox WHERE state NOT IN (2, 3)").await, 0, "nothing is parked");
    assert_eq!(number("SELECT count(*) FROM links WHERE ended_at >= expires_at").await, 2, "not before their end");
    pool.close().await;
}

/// With strong consistency no write begins that Redis cannot confirm.
// shows: S10
#[tokio::test]
async fn strong_writes_are_refused_while_redis_is_away() {
    for plug in [Plug::Killed, Plug::Hung] {
        let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
        let server = Server::start_with(&["--redis", &redis.url(), "--consistency", "strong"]);
        let api = &server.client;
        api.make(&json!({ "target": "https://example.com/0", "alias": "kept" })).await;
        let edited = api.json("PATCH", "/api/links/kept", &json!({ "target": "https://example.com/1" })).await;
        assert_eq!((edited.status, edited.consistency()), (200, "consistent"));
        let before = api.get("/api/links").await.value();

        match plug {
            Plug::Killed => redis.kill().unwrap(),
            Plug::Hung => redis.pause().unwrap(),
        }
        let link = json!({ "target": "https://example.com/2", "alias": "new" });
        let rows = json!({ "rows": [{ "target": "https://example.com/3" }] });
        let refused = [
            api.json("PATCH", "/api/links/kept", &json!({ "target": "https://example.com/2" })).await,
            api.json("PATCH", "/api/links/kept", &json!({ "banned": true })).await,
            api.json("POST", "/api/links", &link).await,
            api.delete("/api/links/kept").await,
            api.json("POST", "/api/import", &rows).await,
        ];
        for answer in refused {
            let problem = answer.problem(503, "cache-unconfirmed");
            assert!(problem["detail"].as_str().unwrap().contains("Nothing was changed"), "{problem}");
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
        assert_eq!(api.get("/api/links").await.value(), before, "nothing was changed");
        assert_eq!(leads_to(api, "kept").await.as_deref(), Some("https://example.com/1"), "visitors are served");

        match plug {
            Plug::Killed => redis.restart().await.unwrap(),
            Plug::Hung => redis.resume().unwrap(),
        }
        wait_for_redis_state(api, "up").await;
        let moved = eventually("writes are taken again", || async {
            let moved = api.json("PATCH", "/api/links/kept", &json!({ "target": "https://example.com/4" })).await;
            (moved.status == 200).then_some(moved)
        });
        assert_eq!(moved.await.unwrap().consistency(), "consistent");
        assert_eq!(leads_to(api, "kept").await.as_deref(), Some("https://example.com/4"));
    }
}

/// With strong consistency no instance serves the state before an acknowledged write.
// shows: S10
#[tokio::test]
async fn strong_writes_are_seen_at_once_by_other_instance() {
    let database = park::postgres_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let start = || Server::start_with(&["--database", &database.url, "--redis", &address, "--consistency", "strong"]);
    let (one, other) = (start(), start());
    one.client.make(&json!({ "target": "https://example.com/0", "alias": "news" })).await;
    for number in 1..=20 {
        let (editor, reader) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let target = format!("https://example.com/{number}");
        assert_eq!(editor.client.json("PATCH", "/api/links/news", &json!({ "target": target })).await.status, 200);
        assert_eq!(leads_to(&reader.client, "news").await, Some(target));
    }
}
