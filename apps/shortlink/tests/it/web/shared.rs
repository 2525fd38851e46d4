//! Several instances on one database and one Redis: what one has done, the others know.

use super::server::Server;
use serde_json::json;
use testkit::park::{self, Database, SharedRedis};

/// Where a service finds this Redis, apart from other tests.
fn address(redis: &SharedRedis) -> String {
    format!("{}?prefix={}", redis.url, redis.prefix)
}

#[tokio::test]
async fn on_mariadb_and_redis() {
    let database = park::mariadb_database().await.unwrap();
    what_one_does_the_other_knows(&database).await;
}

#[tokio::test]
async fn on_postgres_and_redis() {
    let database = park::postgres_database().await.unwrap();
    what_one_does_the_other_knows(&database).await;
}

async fn what_one_does_the_other_knows(database: &Database) {
    let redis = park::redis().await.unwrap();
    let start = || Server::start_with(&["--database", &database.url, "--redis", &address(&redis)]);
    let (one, other) = (start(), start());
    let (a, b) = (&one.client, &other.client);
    assert_eq!(a.get("/readyz").await.value(), json!({ "database": "up", "redis": "up" }));

    // That there is none is in the cache when the link is made.
    b.get("/news").await.problem(404, "unknown-code");
    a.make(&json!({ "target": "https://example.com/0", "alias": "news" })).await;
    for number in 1..=20 {
        let before = format!("https://example.com/{}", number - 1);
        // Both have it warm.
        assert_eq!(a.get("/news").await.header("location"), Some(before.as_str()));
        assert_eq!(b.get("/news").await.header("location"), Some(before.as_str()));
        let (editor, reader) = if number % 2 == 0 { (a, b) } else { (b, a) };
        let target = format!("https://example.com/{number}");
        let edited = editor.json("PATCH", "/api/links/news", &json!({ "target": target })).await;
        assert_eq!((edited.status, edited.consistency()), (200, "consistent"));
        let followed = reader.get("/news").await;
        assert_eq!(followed.header("location"), Some(target.as_str()), "at once, after edit {number}");
        assert_eq!(followed.consistency(), "consistent");
    }
    let alias = json!({ "target": "https://example.com/", "alias": "news" });
    b.json("POST", "/api/links", &alias).await.problem(409, "alias-taken");

    assert_eq!(b.delete("/api/links/news").await.consistency(), "consistent");
    a.get("/news").await.problem(404, "unknown-code");
    let generated = b.make(&json!({ "target": "https://example.com/kept" })).await;

    let (one, other) = (one.restart().await, other.restart().await);
    for client in [&one.client, &other.client] {
        assert_eq!(client.get(&format!("/{generated}")).await.header("location"), Some("https://example.com/kept"));
        client.get("/news").await.problem(404, "unknown-code");
    }
}

/// Two services with databases of their own were given the same Redis. Neither may answer with the other's links.
#[tokio::test]
async fn two_databases_do_not_meet_in_one_redis() {
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
