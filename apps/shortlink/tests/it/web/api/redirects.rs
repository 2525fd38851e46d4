//! `GET /{code}`: the target byte for byte, and how long a browser may keep it.

use crate::web::client::read_answer;
use crate::web::server::Server;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

// shows: S1
#[tokio::test]
async fn location_is_target_byte_for_byte() {
    let server = Server::start();
    for target in [
        "https://example.com",
        "HTTPS://Example.COM:443/%7Euser/../a//b?x=%20+y&&z=#",
        "https://example.com/straße?q=日本語#ü",
        "https://xn--strae-oqa.example/?a=b;c='d'&e=\"f\"",
        "http://user:secret@example.com:8080/path;v=1?next=https://example.org/%2F",
    ] {
        let code = server.client.make(&json!({ "target": target })).await;
        let path = format!("/{code}");
        let read = server.client.get(&format!("/api/links/{code}")).await;
        assert_eq!(read.value()["target"], target);
        // The second and third answers come from the cache.
        for _ in 0..3 {
            let answer = server.client.get(&path).await;
            assert_eq!(answer.status, 302);
            assert_eq!(answer.header_bytes("location"), Some(target.as_bytes()), "{target}");
            assert_eq!(answer.header("cache-control"), Some("private, max-age=10"));
            assert_eq!((answer.consistency(), answer.text()), ("consistent", ""));
        }
        let head = server.client.head(&path).await;
        assert_eq!((head.status, head.header_bytes("location")), (302, Some(target.as_bytes())));
        assert_eq!(head.consistency(), "consistent");
    }
}

/// A redirect from the near cache is answered before the router; visitors must not see a difference.
#[tokio::test]
async fn near_cache_redirect_has_same_headers_as_router() {
    let server = Server::start();
    let path = format!("/{}", server.client.make(&json!({ "target": "https://example.com/a" })).await);
    let mut heads = Vec::new();
    // The load, the store, and twice the near cache.
    for _ in 0..4 {
        let answer = server.client.send("GET", &path, &[("x-short-id", "Ab12Cd34")], b"").await;
        let mut lines: Vec<String> = String::from_utf8(answer.head).unwrap().lines().map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("date:"));
        lines.sort_unstable();
        heads.push(lines);
    }
    assert!(heads.iter().all(|head| *head == heads[0]), "{heads:?}");
    let metrics = server.client.get("/metrics").await;
    let has = |line: &str| metrics.text().lines().any(|found| found == line);
    assert!(has("evenkeel_cache_hits_total{cache=\"link\",tier=\"near\",state=\"fresh\"} 2"), "{}", metrics.text());
    assert!(has("shortlink_http_requests_total{route=\"redirect\",status=\"3xx\"} 4"), "{}", metrics.text());
    // Other requests go through the router.
    let other = server.client.send("POST", &path, &[("sec-fetch-site", "same-origin")], b"").await;
    assert_eq!(other.status, 405);
}

// shows: S2
#[tokio::test]
async fn create_edit_and_delete_show_at_once() {
    let server = Server::start();
    let api = &server.client;
    let leads_to = async || api.get("/here").await.header("location").map(str::to_owned);

    // The negative entry is cached.
    api.get("/here").await.problem(404, "unknown-code");
    api.make(&json!({ "target": "https://example.com/1", "alias": "here" })).await;
    assert_eq!(leads_to().await.as_deref(), Some("https://example.com/1"));
    let patch = json!({ "target": "https://example.com/2" });
    assert_eq!(api.json("PATCH", "/api/links/here", &patch).await.consistency(), "consistent");
    assert_eq!(leads_to().await.as_deref(), Some("https://example.com/2"));
    api.delete("/api/links/here").await;
    api.get("/here").await.problem(404, "unknown-code");
    api.head("/here").await;
}

/// Regression: `/CODE/` was not found, and a client that closes its side after the request got no answer.
// shows: hazard S39
#[tokio::test]
async fn code_with_slash_and_half_closed_client_are_answered() {
    let server = Server::start();
    server.client.make(&json!({ "target": "https://example.com/", "alias": "here" })).await;
    let answer = server.client.get("/here/").await;
    assert_eq!((answer.status, answer.header("location")), (302, Some("https://example.com/")));
    assert_eq!(server.client.send("POST", "/here/", &[("sec-fetch-site", "same-origin")], b"").await.status, 405);
    for path in ["/here", "/api/links/here"] {
        let mut stream = TcpStream::connect(&server.client.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.client.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(read_answer(&mut stream, false).await.unwrap().status < 400, "{path}");
    }
}

/// A cache entry may outlive its link by minutes, so the expiry is checked on every read.
// shows: S5
#[tokio::test]
async fn cached_link_expires_on_time() {
    let server = Server::start();
    let api = &server.client;
    // Whole milliseconds, as they are stored: a link ends with the millisecond of its time.
    let end = jiff::Timestamp::from_millisecond(jiff::Timestamp::now().as_millisecond() + 1500).unwrap();
    let code = api.make(&json!({ "target": "https://example.com/", "expires_at": end.to_string() })).await;
    let path = format!("/{code}");
    let before = api.get(&path).await;
    if jiff::Timestamp::now() < end {
        assert_eq!(before.status, 302);
        assert!(["private, max-age=1", "no-store"].contains(&before.header("cache-control").unwrap()));
    }
    let gone = testkit::eventually("the link ends", || async {
        let answer = api.get(&path).await;
        (answer.status != 302).then_some(answer)
    });
    let gone = gone.await.unwrap();
    assert!(jiff::Timestamp::now() >= end, "not before its end");
    gone.problem(410, "link-expired");

    // It can still be read and extended.
    let read = api.get(&format!("/api/links/{code}")).await;
    assert_eq!(read.status, 200);
    let longer = json!({ "expires_at": "2090-01-01T00:00:00Z" });
    assert_eq!(api.json("PATCH", &format!("/api/links/{code}"), &longer).await.status, 200);
    assert_eq!(api.get(&path).await.status, 302);
}

#[tokio::test]
async fn request_keeps_valid_short_id_or_gets_one() {
    let server = Server::start();
    let mine = server.client.send("GET", "/healthz", &[("x-short-id", "Ab12Cd34")], b"").await;
    assert_eq!(mine.header("x-short-id"), Some("Ab12Cd34"));
    let made = server.client.get("/healthz").await.header("x-short-id").unwrap().to_owned();
    assert!(made.len() == 8 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{made}");
    let refused = server.client.send("GET", "/healthz", &[("x-short-id", "no; good")], b"").await;
    assert_ne!(refused.header("x-short-id"), Some("no; good"));

    // Writes are logged under it.
    let headers = [("x-short-id", "Write123"), ("content-type", "application/json")];
    server.client.send("POST", "/api/links", &headers, br#"{"target":"https://example.com/"}"#).await;
    assert!(server.log().contains("Write123"), "{}", server.log());
    assert!(!server.log().contains("Ab12Cd34"), "reads are not logged unless RUST_LOG asks for it");
}
