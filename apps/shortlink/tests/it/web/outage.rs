//! The service starts while its servers are away, says what is missing, and recovers by itself.

use super::client::Client;
use super::server::Server;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::{eventually, park};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// A server's door: as long as it is closed, whoever connects is sent away at once.
struct Door {
    address: SocketAddr,
    open: Arc<AtomicBool>,
}

impl Door {
    async fn closed(url: &str) -> Door {
        let url: Url = url.parse().unwrap();
        let to = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = Door { address: listener.local_addr().unwrap(), open: Arc::default() };
        let open = Arc::clone(&door.open);
        tokio::spawn(async move {
            while let Ok((mut visitor, _)) = listener.accept().await {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let to = to.clone();
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(to).await?;
                    tokio::io::copy_bidirectional(&mut visitor, &mut server).await
                });
            }
        });
        door
    }

    /// The address by way of this door.
    fn url(&self, url: &str) -> String {
        let mut url: Url = url.parse().unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.to_string()
    }

    fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

async fn redis_door() -> (Door, String) {
    let redis = park::redis().await.unwrap();
    let door = Door::closed(&redis.url).await;
    let url = format!("{}?prefix={}", door.url(&redis.url), redis.prefix);
    (door, url)
}

async fn becomes_ready(client: &Client, redis: &str) {
    let ready = eventually("the service is ready", || async {
        let answer = client.get("/readyz").await;
        (answer.status == 200 && answer.value()["redis"] == redis).then_some(())
    });
    ready.await.unwrap();
}

/// Only probes are answered, each request with what is missing.
async fn waits_for_the_database(client: &Client) {
    assert_eq!(client.get("/healthz").await.status, 200);
    assert_eq!(client.get("/metrics").await.status, 200);
    for path in ["/readyz", "/api/links", "/anything"] {
        let problem = client.get(path).await.problem(503, "unavailable");
        assert!(problem["detail"].as_str().unwrap().contains("cannot open the database"), "{problem}");
    }
    let page = client.send("GET", "/", &[("accept", "text/html")], b"").await;
    assert!(page.status == 503 && page.text().contains("cannot open the database"), "{}", page.text());
}

async fn works(client: &Client) {
    let made = client.json("POST", "/api/links", &json!({ "target": "https://example.com/1" })).await;
    // 202 where the database follows.
    assert!(matches!(made.status, 201 | 202), "{}", made.text());
    let code = made.value()["code"].as_str().unwrap().to_owned();
    let redirect = client.get(&format!("/{code}")).await;
    assert_eq!(redirect.header("location"), Some("https://example.com/1"));
}

async fn starts_without_database(url: &str, mode: &str) {
    let door = Door::closed(url).await;
    let server = Server::start_with(&["--database", &door.url(url), "--write-mode", mode]);
    waits_for_the_database(&server.client).await;
    door.open();
    becomes_ready(&server.client, "embedded").await;
    works(&server.client).await;
}

#[tokio::test]
async fn service_starts_while_mariadb_is_away() {
    let database = park::mariadb_database().await.unwrap();
    starts_without_database(&database.url, "through").await;
}

#[tokio::test]
async fn service_starts_while_postgres_is_away() {
    let database = park::postgres_database().await.unwrap();
    starts_without_database(&database.url, "behind").await;
}

/// Links are written and followed; those that end wait for the queue.
#[tokio::test]
async fn service_without_redis_serves_links_and_recovers() {
    for mode in ["through", "behind"] {
        let (door, redis) = redis_door().await;
        let server = Server::start_with(&["--redis", &redis, "--write-mode", mode]);
        becomes_ready(&server.client, "down").await;
        works(&server.client).await;
        let ending = json!({ "target": "https://example.com/2", "expires_at": "2099-01-01T00:00:00Z" });
        let early = server.client.json("POST", "/api/links", &ending).await;
        if mode == "through" {
            let problem = early.problem(503, "unavailable");
            assert!(problem["detail"].as_str().unwrap().contains("Redis has been away"), "{problem}");
        }
        door.open();
        becomes_ready(&server.client, "up").await;
        let made = eventually("the queue is open", || async {
            (server.client.json("POST", "/api/links", &ending).await.status / 100 == 2).then_some(())
        });
        made.await.unwrap();
        works(&server.client).await;
    }
}

#[tokio::test]
async fn service_starts_while_both_servers_are_away() {
    let database = park::postgres_database().await.unwrap();
    let (redis_door, redis) = redis_door().await;
    let door = Door::closed(&database.url).await;
    let mut server = Server::start_with(&["--database", &door.url(&database.url), "--redis", &redis]);
    waits_for_the_database(&server.client).await;
    door.open();
    becomes_ready(&server.client, "down").await;
    works(&server.client).await;
    redis_door.open();
    becomes_ready(&server.client, "up").await;
    works(&server.client).await;
    assert!(server.terminate().await.success(), "{}", server.log());
}

#[tokio::test]
async fn service_that_waits_for_its_database_stops_when_asked() {
    let door = Door::closed("mysql://root@127.0.0.1:1/x").await;
    let mut server = Server::start_with(&["--database", &door.url("mysql://root@127.0.0.1:1/x")]);
    waits_for_the_database(&server.client).await;
    assert!(server.terminate().await.success(), "{}", server.log());
}
