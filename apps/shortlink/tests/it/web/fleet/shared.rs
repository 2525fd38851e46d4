//! Several instances on one database and one Redis see each other's writes.

use crate::web::client::Client;
use crate::web::server::Server;
use serde_json::json;
use testkit::eventually;
use testkit::park::{self, Database, SharedRedis};

/// The URL of this Redis, with a prefix of this test.
fn address(redis: &SharedRedis) -> String {
    format!("{}?prefix={}", redis.url, redis.prefix)
}

/// Whether the instances have a near cache, and so how soon they see another instance's write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtHand {
    /// None: at once.
    Nothing,
    /// The default: when Redis's invalidation message arrives.
    Links,
}

// shows: S2
#[tokio::test]
async fn instances_on_mariadb_see_each_others_writes() {
    let database = park::mariadb_database().await.unwrap();
    what_one_does_the_other_knows(&database, AtHand::Nothing).await;
}

// shows: S2
#[tokio::test]
async fn instances_on_postgres_see_each_others_writes() {
    let database = park::postgres_database().await.unwrap();
    what_one_does_the_other_knows(&database, AtHand::Nothing).await;
}

// shows: S2
#[tokio::test]
async fn near_caches_on_mariadb_see_each_others_writes() {
    let database = park::mariadb_database().await.unwrap();
    what_one_does_the_other_knows(&database, AtHand::Links).await;
}

// shows: S2
#[tokio::test]
async fn near_caches_on_postgres_see_each_others_writes() {
    let database = park::postgres_database().await.unwrap();
    what_one_does_the_other_knows(&database, AtHand::Links).await;
}

/// Expects that `news` redirects to `target`, at once or after the message; `None`: to nothing.
async fn leads(reader: &Client, target: Option<&str>, at_hand: AtHand) {
    let look = async || {
        let followed = reader.get("/news").await;
        assert_eq!(followed.consistency(), "consistent");
        (followed.header("location") == target).then_some(())
    };
    match at_hand {
        AtHand::Nothing => assert!(look().await.is_some(), "at once: {target:?}"),
        AtHand::Links => eventually("the message is there", look).await.unwrap(),
    }
}

async fn what_one_does_the_other_knows(database: &Database, at_hand: AtHand) {
    let redis = park::redis().await.unwrap();
    let near = if at_hand == AtHand::Nothing { &["--near", "0"][..] } else { &[] };
    let address = address(&redis);
    let arguments = [&["--database", &database.url, "--redis", &address], near].concat();
    let start = || Server::start_with(&arguments);
    let (one, other) = (start(), start());
    let (a, b) = (&one.client, &other.client);
    assert_eq!(a.get("/readyz").await.value(), json!({ "database": "up", "redis": "up" }));

    // A negative entry is cached when the link is created.
    b.get("/news").await.problem(404, "unknown-code");
    a.make(&json!({ "target": "https://example.com/0", "alias": "news" })).await;
    for number in 1..=20 {
        let before = format!("https://example.com/{}", number - 1);
        // Both have the link in their caches.
        for client in [a, b, a, b] {
            leads(client, Some(&before), at_hand).await;
        }
        let (editor, reader) = if number % 2 == 0 { (a, b) } else { (b, a) };
        let target = format!("https://example.com/{number}");
        let edited = editor.json("PATCH", "/api/links/news", &json!({ "target": target })).await;
        assert_eq!((edited.status, edited.consistency()), (200, "consistent"));
        leads(editor, Some(&target), AtHand::Nothing).await;
        leads(reader, Some(&target), at_hand).await;
    }
    for client in [a, b] {
        let metrics = client.get("/metrics").await;
        let line = "evenkeel_cache_hits_total{cache=\"link\",tier=\"near\",state=\"fresh\"} ";
        let near = metrics.text().lines().find_map(|found| found.strip_prefix(line)?.parse::<u64>().ok());
        assert_eq!(near.is_some_and(|hits| hits > 0), at_hand == AtHand::Links, "{near:?}");
    }
    let alias = json!({ "target": "https://example.com/", "alias": "news" });
    b.json("POST", "/api/links", &alias).await.problem(409, "alias-taken");

    assert_eq!(b.delete("/api/links/news").await.consistency(), "consistent");
    leads(a, None, at_hand).await;
    let generated = b.make(&json!({ "target": "https://example.com/kept" })).await;

    let (one, other) = (one.restart().await, other.restart().await);
    for client in [&one.client, &other.client] {
        assert_eq!(client.get(&format!("/{generated}")).await.header("location"), Some("https://example.com/kept"));
        client.get("/news").await.problem(404, "unknown-code");
    }
}

/// Two services with databases of their own were given the same Redis. Neither may answer with the other's links.
#[tokio::test]
async fn two_databases_share_redis_without_collisions() {
    let redis = park::redis().await.unwrap();
    let start = || Server::start_with(&["--redis", &address(&redis)]);
    let (one, other) = (start(), start());
    one.client.make(&json!({ "target": "https://example.com/1", "alias": "same" })).await;
    assert_eq!(one.client.get("/same").await.status, 302);
    other.client.get("/same").await.problem(404, "unknown-code");
    other.client.make(&json!({ "target": "https://example.com/2", "alias": "same" })).await;
    assert_eq!(one.client.get("/same").await.header("location"), Some("https://example.com/1"));
    assert_eq!(other.client.get("/same").await.header("location"), Some("https://example.com/2"));
}
