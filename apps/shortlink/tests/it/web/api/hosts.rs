//! What the request calls the service, and whether that is believed.

use crate::web::server::Server;
use serde_json::json;

/// A page from elsewhere can make a browser on this machine call a service on 127.0.0.1 under the page's own name (DNS
/// rebinding), and read the answers. Such a request names a foreign host.
#[tokio::test]
async fn loopback_service_refuses_foreign_host() {
    let server = Server::start();
    let api = &server.client;
    api.make(&json!({ "target": "https://example.com/", "alias": "public" })).await;
    let foreign = [("host", "rebound.example")];
    for path in ["/api/links", "/", "/links/public", "/docs", "/api/export"] {
        api.send("GET", path, &foreign, b"").await.problem(421, "foreign-host");
    }
    // What is public anyway is answered under any name.
    assert_eq!(api.send("GET", "/public", &foreign, b"").await.status, 302);
    assert_eq!(api.send("GET", "/healthz", &foreign, b"").await.status, 200);
    for own in ["localhost:9", "127.0.0.1", "[::1]:80", "links.localhost"] {
        assert_eq!(api.send("GET", "/api/links", &[("host", own)], b"").await.status, 200, "{own}");
    }
}

#[tokio::test]
async fn malformed_host_is_refused() {
    let server = Server::start();
    for host in ["a b", "user@localhost", "localhost/x", "\"localhost\""] {
        server.client.send("GET", "/api/links", &[("host", host)], b"").await.problem(400, "bad-request");
    }
    let twice = [("host", "localhost"), ("Host", "localhost")];
    server.client.send("GET", "/api/links", &twice, b"").await.problem(400, "bad-request");
}

#[tokio::test]
async fn short_urls_use_public_url() {
    let server = Server::start_with(&["--public-url", "https://s.example/"]);
    let api = &server.client;
    let made = api.json("POST", "/api/links", &json!({ "target": "https://example.com/", "alias": "a" })).await.value();
    assert_eq!(made["short_url"], "https://s.example/a");
    assert_eq!(api.send("GET", "/api/links", &[("host", "s.example")], b"").await.status, 200);
    let form = ("content-type", "application/x-www-form-urlencoded");
    // Behind a proxy that passes its own name on, the page's forms come from the public address.
    let home = [form, ("host", "127.0.0.1"), ("origin", "https://s.example")];
    assert_eq!(api.send("POST", "/links", &home, b"target=https://example.com/").await.status, 303);
    let own = json!({ "target": "https://s.example/a" });
    let refused = api.json("POST", "/api/links", &own).await.problem(422, "invalid-input");
    assert!(refused["detail"].as_str().unwrap().contains("loop"), "{refused}");
}

/// RFC 9112, section 3.2.
// shows: hazard S7
#[tokio::test]
async fn request_without_or_with_two_hosts_is_refused() {
    let server = Server::start();
    server.client.make(&json!({ "target": "https://example.com/", "alias": "public" })).await;
    for path in ["/api/links", "/", "/public"] {
        let request = format!("GET {path} HTTP/1.1\r\nconnection: close\r\n\r\n");
        server.client.raw(request.as_bytes(), false).await.unwrap().problem(400, "bad-request");
        let twice = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        server.client.raw(twice.as_bytes(), false).await.unwrap().problem(400, "bad-request");
    }
    let older = server.client.raw(b"GET /public HTTP/1.0\r\n\r\n", false).await.unwrap();
    assert_eq!(older.status, 302);
}

/// The page contains the port on which the service listens.
// shows: hazard S21
#[tokio::test]
async fn docs_page_shows_service_url() {
    let server = Server::start();
    let page = server.client.get("/docs").await;
    assert!(page.text().contains(&format!("curl -s http://{}/api/links", server.client.address)), "{}", page.text());
    let first = page.text().split("<article").nth(1).unwrap();
    assert!(first.contains("<code>/api/links</code>"), "the page begins with links: {first}");
}

// shows: hazard S20
#[tokio::test]
async fn expiry_is_accepted_up_to_the_latest_possible_time() {
    let server = Server::start();
    let link = json!({ "target": "https://example.com/", "expires_at": "9999-12-31T23:59:59Z" });
    let problem = server.client.json("POST", "/api/links", &link).await.problem(422, "invalid-input");
    assert!(
        problem["errors"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("is too late; the latest possible time is 9999-12-30"),
        "{problem}"
    );
    // The error names this time, so a link with it is created, although no queue takes a job for it.
    let latest = json!({ "target": "https://example.com/", "alias": "last", "expires_at": "9999-12-30T22:00:00Z" });
    let made = server.client.json("POST", "/api/links", &latest).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(server.client.get("/api/links/last").await.value()["expires_at"], "9999-12-30T22:00:00Z");
    assert_eq!(server.client.get("/last").await.status, 302);
}
