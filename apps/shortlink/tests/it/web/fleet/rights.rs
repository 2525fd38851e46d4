//! The rights that docs/operations.md lists for the Redis user of shortlink are sufficient.

use crate::web::server::Server;
use serde_json::json;
use std::path::Path;
use testkit::eventually;
use testkit::servers::{Postgres, PostgresOptions, Redis, RedisOptions};

/// The rights on that page: those of the library, with the channels and keys of shortlink.
fn documented() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(page).unwrap();
    let of_library = page.lines().find_map(|line| line.strip_prefix("ACL SETUSER app on >password ")).unwrap();
    let keys = page.lines().find(|line| line.starts_with("resetchannels &evenkeel-*")).unwrap();
    let commands = of_library.strip_prefix("resetchannels &evenkeel:* resetkeys ~evenkeel:* ~{evenkeel:* ").unwrap();
    format!("{keys} {commands}")
}

/// Regression: the record of the key prefix was outside of the documented patterns, and used EXPIRE.
// shows: hazard T3
#[tokio::test]
async fn documented_rights_suffice_for_shortlink() {
    let redis = Redis::start(RedisOptions::new().user("app", "password", &documented())).await.unwrap();
    let mut postgres = Postgres::start(PostgresOptions::new()).await.unwrap();
    let (database, url) = (postgres.url(), redis.url());
    let arguments = ["--database", &database, "--redis", &url];
    let server = Server::start_with(&arguments);
    let body = json!({ "target": "https://example.com/", "alias": "kept", "expires_at": "2100-01-01T00:00:00Z" });
    let created = server.client.json("POST", "/api/links", &body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!(server.client.get("/kept").await.header("location"), Some("https://example.com/"));
    let edited = server.client.json("PATCH", "/api/links/kept", &json!({ "banned": false })).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    // The redirect is in Redis now, and an instance that cannot reach the database finds it through the record of the prefix.
    assert_eq!(server.client.get("/kept").await.header("location"), Some("https://example.com/"));
    postgres.kill().unwrap();
    let server = server.again(&arguments);
    let found = eventually("the redirect is served from Redis", || async {
        let answer = server.client.get("/kept").await;
        (answer.header("location") == Some("https://example.com/")).then_some(())
    });
    found.await.unwrap();
    let refused: Vec<redis::Value> = redis.command(&["ACL", "LOG"]).await.unwrap();
    assert!(refused.is_empty(), "{refused:?}\n{}", server.log());
}
