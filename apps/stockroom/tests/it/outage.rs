//! The service starts while its servers are away, says what is missing, and recovers by itself.

use super::client::Client;
use super::server::Server;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::servers::{Redis, RedisOptions};
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

async fn becomes_ready(client: &Client, redis: &str) {
    let ready = eventually("the service is ready", || async {
        let answer = client.get("/readyz").await;
        (answer.status == 200 && answer.value()["redis"] == redis).then_some(())
    });
    ready.await.unwrap();
}

async fn starts_without(database: &str, redis: &str) {
    let (database_door, redis_door) = (Door::closed(database).await, Door::closed(redis).await);
    let arguments = ["--database", &database_door.url(database), "--redis", &redis_door.url(redis)];
    let server = Server::start_with(&arguments);
    assert_eq!(server.client.get("/healthz").await.status, 200);
    for path in ["/readyz", "/api/arrivals", "/"] {
        let detail = server.client.get(path).await.problem(503, "unavailable");
        assert!(detail.contains("cannot open the database"), "{detail}");
    }
    database_door.open();
    becomes_ready(&server.client, "down").await;
    let server = server.with_products(&["tea"]).await;
    redis_door.open();
    becomes_ready(&server.client, "up").await;
    assert_eq!(server.arrive("tea", 5, "2026-11-21").await, 5);
}

#[tokio::test]
async fn service_starts_while_mariadb_and_redis_are_away() {
    let (database, redis) = (park::mariadb_database().await.unwrap(), park::redis().await.unwrap());
    starts_without(&database.url, &redis.url).await;
}

#[tokio::test]
async fn service_starts_while_postgres_and_redis_are_away() {
    let (database, redis) = (park::postgres_database().await.unwrap(), park::redis().await.unwrap());
    starts_without(&database.url, &redis.url).await;
}

/// Only the strategy that needs the servers waits for them.
#[tokio::test]
async fn service_starts_while_the_servers_of_its_redlock_are_away() {
    let servers = tokio::join!(
        Redis::start(RedisOptions::new()),
        Redis::start(RedisOptions::new()),
        Redis::start(RedisOptions::new())
    );
    let servers = [servers.0.unwrap(), servers.1.unwrap(), servers.2.unwrap()];
    let mut doors = Vec::new();
    let mut arguments = Vec::new();
    for server in &servers {
        let door = Door::closed(&server.url()).await;
        arguments.extend(["--redlock".to_owned(), door.url(&server.url())]);
        doors.push(door);
    }
    let redis = park::redis().await.unwrap();
    arguments.extend(["--redis".to_owned(), redis.url.clone()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = Server::start_with(&arguments).with_products(&["tea"]).await;
    assert_eq!(server.arrive("tea", 5, "2026-11-21").await, 5);
    let body = json!({ "commodityName": "tea", "quantity": 1 });
    let refused = server.client.post("/api/arrivals?strategy=redlock", &body).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    doors.iter().for_each(Door::open);
    let taken = eventually("the redlock is there", || async {
        (server.client.post("/api/arrivals?strategy=redlock", &body).await.status / 100 == 2).then_some(())
    });
    taken.await.unwrap();
}
