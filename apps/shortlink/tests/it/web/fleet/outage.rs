//! The service starts while its servers are away, says what is missing, and recovers by itself.

use crate::web::client::Client;
use crate::web::server::Server;
use serde_json::json;
use sqlx::{MySqlPool, PgPool};
use testkit::park::SharedRedis;
use testkit::{Door, eventually, park};

/// A Redis behind a door that the test opens and closes.
struct RedisDoor {
    door: Door,
    url: String,
    /// Without a shared Redis, the server that ends with this value.
    _redis: SharedRedis,
}

async fn redis_door() -> RedisDoor {
    let redis = park::redis().await.unwrap();
    let door = Door::closed(&redis.url).unwrap();
    let url = format!("{}?prefix={}", door.url(&redis.url).unwrap(), redis.prefix);
    RedisDoor { door, url, _redis: redis }
}

/// The URL of the database through a door that the test opens and closes.
async fn database_door(url: &str) -> (Door, String) {
    let door = Door::closed(url).unwrap();
    let url = door.url(url).unwrap();
    (door, url)
}

async fn becomes_ready(client: &Client, redis: &str) {
    let ready = eventually("the service is ready", || async {
        let answer = client.try_get("/readyz").await?;
        (answer.status == 200 && answer.value()["redis"] == redis).then_some(())
    });
    ready.await.unwrap();
}

/// Checks that the probes respond, and that every rejected request names the missing dependency.
async fn waits_for_the_database(server: &Server, what: &str) {
    let client = &server.client;
    assert_eq!(client.get("/healthz").await.status, 200);
    assert_eq!(client.get("/metrics").await.status, 200);
    for path in ["/readyz", "/api/links", "/anything"] {
        let problem = client.get(path).await.problem(503, "unavailable");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("cannot open the database") && detail.contains(what), "{problem}");
    }
    let page = client.send("GET", "/", &[("accept", "text/html")], b"").await;
    let text = page.text();
    assert!(page.status == 503 && text.contains("cannot open the database") && text.contains(what), "{text}");
    assert!(server.log().contains("cannot open the database") && server.log().contains(what), "{}", server.log());
}

/// The state of Redis that `/readyz` reports while the database is away.
async fn reports_redis(client: &Client, state: &str) {
    let problem = client.get("/readyz").await.problem(503, "unavailable");
    assert!(problem["detail"].as_str().unwrap().contains(&format!("Redis: {state}.")), "{problem}");
}

/// Whether the page has the notice about Redis.
async fn page_names_redis(client: &Client) -> bool {
    client.send("GET", "/", &[("accept", "text/html")], b"").await.text().contains("Redis is unreachable")
}

async fn works(client: &Client) {
    let made = client.json("POST", "/api/links", &json!({ "target": "https://example.com/1" })).await;
    // 202 where the database follows.
    assert!(matches!(made.status, 201 | 202), "{}", made.text());
    let code = made.value()["code"].as_str().unwrap().to_owned();
    assert_eq!(leads_to(client, &code).await.as_deref(), Some("https://example.com/1"));
}

async fn leads_to(client: &Client, code: &str) -> Option<String> {
    client.try_get(&format!("/{code}")).await?.header("location").map(str::to_owned)
}

const CACHED: &str = "https://example.com/cached";

/// Runs an instance with all servers, which leaves a link in Redis.
async fn former_run(database: &str, redis: &str) {
    let mut server = Server::start_with(&["--database", database, "--redis", redis]);
    becomes_ready(&server.client, "up").await;
    server.client.make(&json!({ "target": CACHED, "alias": "cached" })).await;
    assert_eq!(leads_to(&server.client, "cached").await.as_deref(), Some(CACHED));
    assert!(server.terminate().await.success(), "{}", server.log());
}

async fn starts_without_database(url: &str, mode: &str) {
    let (door, database) = database_door(url).await;
    let server = Server::start_with(&["--database", &database, "--write-mode", mode]);
    waits_for_the_database(&server, "").await;
    door.open();
    becomes_ready(&server.client, "embedded").await;
    works(&server.client).await;
}

// shows: hazard S3
#[tokio::test]
async fn service_starts_while_mariadb_is_away() {
    let database = park::mariadb_database().await.unwrap();
    starts_without_database(&database.url, "through").await;
    starts_without_database(&database.url, "behind").await;
}

// shows: hazard S3, hazard S3b
#[tokio::test]
async fn service_starts_while_postgres_is_away() {
    let database = park::postgres_database().await.unwrap();
    starts_without_database(&database.url, "through").await;
    starts_without_database(&database.url, "behind").await;
}

/// Redirects come from Redis and, with write-behind, writes go to the spool, as after a database outage at run time.
async fn serves_from_redis(url: &str, mode: &str) {
    let ((door, database), redis) = (database_door(url).await, redis_door().await);
    door.open();
    redis.door.open();
    former_run(&database, &redis.url).await;
    door.close();
    let server = Server::start_with(&["--database", &database, "--redis", &redis.url, "--write-mode", mode]);
    let client = &server.client;
    waits_for_the_database(&server, "as of 20").await;
    assert_eq!(leads_to(client, "cached").await.as_deref(), Some(CACHED));
    if mode == "behind" {
        accepts_writes(client, "behind").await;
        let changed = client.json("PATCH", "/api/links/cached", &json!({ "target": "https://example.com/2" })).await;
        assert_eq!((changed.status, changed.consistency()), (202, "eventual"), "{}", changed.text());
        assert_eq!(leads_to(client, "cached").await.as_deref(), Some("https://example.com/2"));
    } else {
        let body = json!({ "target": "https://example.com/2", "alias": "through" });
        let problem = client.json("POST", "/api/links", &body).await.problem(503, "unavailable");
        assert!(problem["detail"].as_str().unwrap().contains("Nothing was changed"), "{problem}");
    }
    door.open();
    becomes_ready(client, "up").await;
    if mode == "behind" {
        reach_the_database(client, &["behind"]).await;
        assert_eq!(leads_to(client, "cached").await.as_deref(), Some("https://example.com/2"));
    }
    works(client).await;
}

/// A link with an alias is accepted without reading it; one without needs a number, and the refusal says so.
async fn accepts_writes(client: &Client, alias: &str) {
    let body = json!({ "target": "https://example.com/3", "alias": alias });
    let made = client.json("POST", "/api/links", &body).await;
    assert_eq!((made.status, made.consistency()), (202, "eventual"), "{}", made.text());
    assert_eq!(leads_to(client, alias).await.as_deref(), Some("https://example.com/3"));
    let body = json!({ "target": "https://example.com/3" });
    let problem = client.json("POST", "/api/links", &body).await.problem(503, "unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("give the link an alias"), "{problem}");
}

/// Waits until the writes are in the database: lists show nothing else.
async fn reach_the_database(client: &Client, aliases: &[&str]) {
    for alias in aliases {
        let there = eventually("the write is in the database", || async {
            let list = client.get(&format!("/api/links?q={alias}")).await;
            (list.status == 200 && list.text().contains("https://example.com/3")).then_some(())
        });
        there.await.unwrap();
        assert_eq!(leads_to(client, alias).await.as_deref(), Some("https://example.com/3"));
    }
}

// shows: S12, hazard S3a
#[tokio::test]
async fn service_without_mariadb_serves_from_redis_and_recovers() {
    for mode in ["through", "behind"] {
        let database = park::mariadb_database().await.unwrap();
        serves_from_redis(&database.url, mode).await;
    }
}

// shows: S12, hazard S3a
#[tokio::test]
async fn service_without_postgres_serves_from_redis_and_recovers() {
    for mode in ["through", "behind"] {
        let database = park::postgres_database().await.unwrap();
        serves_from_redis(&database.url, mode).await;
    }
}

/// The recorded prefix belongs to another database: entries under it are no longer served.
async fn drops_the_prefix_of_a_replaced_database(url: &str) {
    let ((door, database), redis) = (database_door(url).await, redis_door().await);
    door.open();
    redis.door.open();
    former_run(&database, &redis.url).await;
    door.close();
    let server = Server::start_with(&["--database", &database, "--redis", &redis.url]);
    assert_eq!(leads_to(&server.client, "cached").await.as_deref(), Some(CACHED));
    for emptied in ["DELETE FROM links", "DELETE FROM link_settings"] {
        if url.starts_with("mysql") {
            sqlx::query(emptied).execute(&MySqlPool::connect(url).await.unwrap()).await.unwrap();
        } else {
            sqlx::query(emptied).execute(&PgPool::connect(url).await.unwrap()).await.unwrap();
        }
    }
    door.open();
    becomes_ready(&server.client, "up").await;
    server.client.get("/cached").await.problem(404, "unknown-code");
    works(&server.client).await;
}

// shows: S12, hazard S3a
#[tokio::test]
async fn service_drops_prefix_of_replaced_mariadb() {
    let database = park::mariadb_database().await.unwrap();
    drops_the_prefix_of_a_replaced_database(&database.url).await;
}

// shows: S12, hazard S3a
#[tokio::test]
async fn service_drops_prefix_of_replaced_postgres() {
    let database = park::postgres_database().await.unwrap();
    drops_the_prefix_of_a_replaced_database(&database.url).await;
}

/// Links are written and followed; links with an expiry need the queue.
// shows: S12, hazard S3, keel::Keel::connect_lazy, keel::KeelBuilder::connect_lazy_with, link::Link::connect_lazy
#[tokio::test]
async fn service_without_redis_serves_links_and_recovers() {
    for mode in ["through", "behind"] {
        let redis = redis_door().await;
        let server = Server::start_with(&["--redis", &redis.url, "--write-mode", mode]);
        becomes_ready(&server.client, "down").await;
        assert!(page_names_redis(&server.client).await);
        works(&server.client).await;
        let ending = json!({ "target": "https://example.com/2", "expires_at": "2099-01-01T00:00:00Z" });
        let early = server.client.json("POST", "/api/links", &ending).await;
        if mode == "through" {
            let problem = early.problem(503, "unavailable");
            assert!(problem["detail"].as_str().unwrap().contains("Redis has been unreachable"), "{problem}");
        }
        redis.door.open();
        becomes_ready(&server.client, "up").await;
        let made = eventually("the queue is open", || async {
            (server.client.json("POST", "/api/links", &ending).await.status / 100 == 2).then_some(())
        });
        made.await.unwrap();
        assert!(!page_names_redis(&server.client).await);
        works(&server.client).await;
    }
}

/// The servers come back one after the other, in both orders.
async fn starts_without_both(url: &str, mode: &str) {
    let ((door, database), redis) = (database_door(url).await, redis_door().await);
    door.open();
    redis.door.open();
    former_run(&database, &redis.url).await;
    door.close();
    redis.door.close();
    let arguments = ["--database", &database, "--redis", &redis.url, "--write-mode", mode];
    let server = Server::start_with(&arguments);
    waits_for_the_database(&server, "Redis").await;
    reports_redis(&server.client, "down").await;
    if mode == "behind" {
        accepts_writes(&server.client, "first").await;
    }
    redis.door.open();
    let cached = eventually("Redis is found", || async { leads_to(&server.client, "cached").await });
    assert_eq!(cached.await.unwrap(), CACHED);
    if mode == "behind" {
        assert_eq!(leads_to(&server.client, "first").await.as_deref(), Some("https://example.com/3"));
        accepts_writes(&server.client, "second").await;
    }
    waits_for_the_database(&server, "as of 20").await;
    reports_redis(&server.client, "up").await;
    door.open();
    becomes_ready(&server.client, "up").await;
    if mode == "behind" {
        reach_the_database(&server.client, &["first", "second"]).await;
    }
    works(&server.client).await;

    door.close();
    redis.door.close();
    let mut server = server.again(&arguments);
    waits_for_the_database(&server, "Redis").await;
    door.open();
    becomes_ready(&server.client, "down").await;
    works(&server.client).await;
    redis.door.open();
    becomes_ready(&server.client, "up").await;
    works(&server.client).await;
    assert!(server.terminate().await.success(), "{}", server.log());
}

// shows: S12, hazard S3a
#[tokio::test]
async fn service_starts_while_mariadb_and_redis_are_away() {
    for mode in ["through", "behind"] {
        let database = park::mariadb_database().await.unwrap();
        starts_without_both(&database.url, mode).await;
    }
}

// shows: S12, hazard S3a
#[tokio::test]
async fn service_starts_while_postgres_and_redis_are_away() {
    for mode in ["through", "behind"] {
        let database = park::postgres_database().await.unwrap();
        starts_without_both(&database.url, mode).await;
    }
}

#[tokio::test]
async fn service_waiting_for_database_stops_on_signal() {
    let (_door, database) = database_door("mysql://root@127.0.0.1:1/x").await;
    let mut server = Server::start_with(&["--database", &database]);
    waits_for_the_database(&server, "").await;
    assert!(server.terminate().await.success(), "{}", server.log());
}
