//! The service starts while its servers are down, reports what is missing, and recovers without a restart.

use super::support::client::Client;
use super::support::server::Server;
use evenkeel::Keel;
use serde_json::json;
use testkit::servers::{Redis, RedisOptions};
use testkit::{Door, eventually, park};

async fn becomes_ready(client: &Client, redis: &str) {
    let ready = eventually("the service is ready", || async {
        let response = client.try_get("/readyz").await?;
        (response.status == 200 && response.value()["redis"] == redis).then_some(())
    });
    ready.await.unwrap();
}

/// Whether the page has the notice about Redis.
async fn page_names_redis(client: &Client) -> bool {
    client.send("GET", "/", "accept: text/html\r\n", "").await.text.contains("Redis is unreachable")
}

/// The database is down at the start, with or without Redis.
async fn starts_while_down(url: &str, is_redis_down: bool) {
    let redis = park::redis().await.unwrap();
    let (door, redis_door) = (Door::closed(url).unwrap(), Door::closed(&redis.url).unwrap());
    let state = if is_redis_down { "down" } else { "up" };
    if !is_redis_down {
        redis_door.open();
    }
    let arguments = ["--database", &door.url(url).unwrap(), "--redis", &redis_door.url(&redis.url).unwrap()];
    let server = Server::start_with(&arguments);
    assert_eq!(server.client.get("/healthz").await.status, 200);
    for path in ["/readyz", "/api/arrivals", "/"] {
        let detail = server.client.get(path).await.problem(503, "unavailable");
        assert!(
            detail.contains("cannot open the database") && detail.contains(&format!("Redis: {state}.")),
            "{detail}"
        );
        assert!(detail.matches("error communicating with database").count() <= 1, "it repeats itself: {detail}");
    }
    let page = server.client.send("GET", "/", "accept: text/html\r\n", "").await;
    assert!(page.status == 503 && page.text.contains("cannot open the database"), "{}", page.text);
    assert!(server.log().contains("cannot open the database"), "{}", server.log());
    assert_eq!(server.log().contains("Redis is not reachable"), is_redis_down, "{}", server.log());
    door.open();
    becomes_ready(&server.client, state).await;
    let server = server.with_products(&["tea"]).await;
    assert_eq!(page_names_redis(&server.client).await, is_redis_down);
    redis_door.open();
    becomes_ready(&server.client, "up").await;
    assert!(!page_names_redis(&server.client).await);
    assert_eq!(server.receive("tea", 5, "2026-11-21").await, 5);
}

// shows: hazard S3, hazard S9
#[tokio::test]
async fn service_starts_while_mariadb_is_down_with_or_without_redis() {
    for is_redis_down in [false, true] {
        starts_while_down(&park::mariadb_database().await.unwrap().url, is_redis_down).await;
    }
}

// shows: hazard S3, hazard S3b
#[tokio::test]
async fn service_starts_while_postgres_is_down_with_or_without_redis() {
    for is_redis_down in [false, true] {
        starts_while_down(&park::postgres_database().await.unwrap().url, is_redis_down).await;
    }
}

/// Only `redlock` fails until its servers are up.
// shows: hazard S15
#[tokio::test]
async fn service_starts_while_redlock_servers_are_down() {
    let servers = tokio::join!(
        Redis::start(RedisOptions::new()),
        Redis::start(RedisOptions::new()),
        Redis::start(RedisOptions::new())
    );
    let servers = [servers.0.unwrap(), servers.1.unwrap(), servers.2.unwrap()];
    let mut doors = Vec::new();
    let mut arguments = Vec::new();
    for server in &servers {
        let door = Door::closed(&server.url()).unwrap();
        arguments.extend(["--redlock".to_owned(), door.url(&server.url()).unwrap()]);
        doors.push(door);
    }
    let redis = park::redis().await.unwrap();
    arguments.extend(["--redis".to_owned(), redis.url.clone()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = Server::start_with(&arguments).with_products(&["tea"]).await;
    assert_eq!(server.receive("tea", 5, "2026-11-21").await, 5);
    let body = json!({ "commodityName": "tea", "quantity": 1 });
    let rejected = server.client.post("/api/arrivals?strategy=redlock", &body).await;
    assert_eq!(rejected.status, 503, "{}", rejected.text);
    doors.iter().for_each(Door::open);
    let received = eventually("redlock is available", || async {
        (server.client.post("/api/arrivals?strategy=redlock", &body).await.status / 100 == 2).then_some(())
    });
    received.await.unwrap();
}

/// A request to pay opens the stream. Until that succeeds, orders cannot be paid, and the refusal says why.
#[tokio::test]
async fn payment_without_its_stream_is_refused_with_the_reason() {
    let redis = park::redis().await.unwrap();
    let door = Door::closed(&redis.url).unwrap();
    let address = format!("{}?prefix={}", door.url(&redis.url).unwrap(), redis.prefix);
    let server = Server::start_with(&["--redis", &address]).with_products(&["tea"]).await;
    server.receive("tea", 5, "2026-11-21").await;
    let order = server.client.post("/api/orders", &json!({ "commodityName": "tea", "quantity": 1 })).await.is(201);
    let path = format!("/api/orders/{}/pay", order["id"].as_str().unwrap());
    let headers = "content-type: application/json\r\nidempotency-key: k\r\n";
    let pay = || server.client.send("POST", &path, headers, r#"{"card":"approved"}"#);
    let detail = pay().await.problem(503, "unavailable");
    assert!(detail.contains("has not yet reached Redis") && detail.contains("Nothing was changed"), "{detail}");

    // Another program uses the name for a stream of its own.
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&address).await.unwrap();
    keel.stream::<String>("order-payments").partitions(3).open().await.unwrap();
    door.open();
    let refused = eventually("Redis is reached", || async {
        let refused = pay().await;
        (!refused.text.contains("has not yet reached Redis")).then_some(refused)
    });
    let detail = refused.await.unwrap().problem(503, "unavailable");
    assert!(detail.contains("cannot be opened") && detail.contains("Nothing was changed"), "{detail}");
    assert!(server.log().contains("the stream of payments cannot be opened"), "{}", server.log());
}
