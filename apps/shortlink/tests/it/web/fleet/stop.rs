//! The service is asked to stop.

use crate::web::client::read_answer;
use crate::web::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BODY: &[u8] = br#"{"target":"https://example.com/","alias":"late"}"#;

/// Sends all of a request but the end of its body, and waits until the service has begun to read it.
async fn begin(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(&server.client.address).await.unwrap();
    let head = format!(
        "POST /api/links HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        BODY.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The service sends 100 Continue once a handler reads the body: from here on the request is in flight.
    let mut said = [0; 25];
    stream.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

fn ask_to_stop(server: &Server, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap(), signal).unwrap();
}

async fn stops(server: &Server) {
    let stopping = testkit::eventually("the service stops to listen", || async {
        TcpStream::connect(&server.client.address).await.is_err().then_some(())
    });
    stopping.await.unwrap();
}

// shows: S6
#[tokio::test]
async fn shutdown_finishes_requests_in_flight_and_refuses_new() {
    let mut server = Server::start();
    let idle = TcpStream::connect(&server.client.address).await.unwrap();
    let mut under_way = begin(&server).await;
    ask_to_stop(&server, Signal::TERM);
    stops(&server).await;
    assert!(server.child.ended().unwrap().is_none(), "it waits for the request");
    under_way.write_all(BODY).await.unwrap();
    let answer = read_answer(&mut under_way, false).await.unwrap();
    assert_eq!((answer.status, answer.value()["code"].as_str()), (201, Some("late")));
    assert!(server.child.wait().await.unwrap().success(), "{}", server.log());
    drop(idle);
}

#[tokio::test]
async fn sigint_stops_like_sigterm() {
    let mut server = Server::start();
    ask_to_stop(&server, Signal::INT);
    assert!(server.child.wait().await.unwrap().success(), "{}", server.log());
}

#[tokio::test]
async fn second_signal_stops_at_once() {
    let mut server = Server::start();
    let _under_way = begin(&server).await;
    ask_to_stop(&server, Signal::TERM);
    stops(&server).await;
    assert!(server.child.ended().unwrap().is_none(), "it waits for the request");
    ask_to_stop(&server, Signal::TERM);
    assert_eq!(server.child.wait().await.unwrap().code(), Some(130));
}

/// A client hung up while its write was under way, and the write went with it: where that was between the commit and the
/// invalidation, the entry from before was served until its ttl ended. The write has a task of its own since.
// shows: S6, hazard D8
#[tokio::test]
async fn write_completes_after_client_hangs_up() {
    let database = testkit::park::postgres_database().await.unwrap();
    let server = Server::start_with(&["--database", &database.url]);
    let code = server.client.make(&json!({ "target": "https://example.com/before" })).await;
    let path = format!("/{code}");
    assert_eq!(server.client.get(&path).await.header("location"), Some("https://example.com/before"));

    // Another transaction holds the row, so the write begins and waits for it.
    let pool = sqlx::PgPool::connect(&database.url).await.unwrap();
    let mut other = pool.begin().await.unwrap();
    sqlx::query("SELECT 1 FROM links WHERE code = $1 FOR UPDATE").bind(&code).execute(&mut *other).await.unwrap();
    let body = r#"{"target":"https://example.com/after"}"#;
    let head = "host: localhost\r\ncontent-type: application/json\r\ncontent-length";
    let request = format!("PATCH /api/links/{code} HTTP/1.1\r\n{head}: {}\r\n\r\n{body}", body.len());
    let mut client = TcpStream::connect(&server.client.address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let waits = testkit::eventually("the write waits for the row", || async {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&pool).await.ok()?;
        (waiting > 0).then_some(())
    });
    waits.await.unwrap();

    // A client that only closed its side would get the answer, so this one resets the connection.
    client.set_zero_linger().unwrap();
    drop(client);
    other.rollback().await.unwrap();
    let arrived = testkit::eventually("the edit shows", || async {
        let followed = server.client.get(&path).await;
        (followed.header("location") == Some("https://example.com/after")).then_some(())
    });
    arrived.await.unwrap();
}

/// More connections that send nothing than the process may have files for.
// shows: hazard S4
#[tokio::test]
async fn idle_connections_do_not_keep_a_probe_from_its_answer() {
    let server = Server::start_prefixed(&["prlimit", "--nofile=700:700"], &[]);
    let mut idle = Vec::new();
    for _ in 0..750 {
        idle.push(TcpStream::connect(&server.client.address).await.unwrap());
    }
    assert_eq!(server.client.get("/healthz").await.status, 200);
    assert!(server.log().contains("connection limit reached"), "{}", server.log());
    drop(idle);
}
