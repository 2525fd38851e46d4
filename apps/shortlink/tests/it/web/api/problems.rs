//! Every error is a problem document that names what is at fault.

use crate::web::client::Response;
use crate::web::server::Server;
use serde_json::json;

/// `METHOD path`, content type (or nothing), body; then the expected status, kind and fields at fault.
type Case = (&'static str, &'static str, &'static str, u16, &'static str, &'static [&'static str]);

const JSON: &str = "application/json";

const CASES: &[Case] = &[
    // Bodies
    ("POST /api/links", JSON, "{", 400, "bad-request", &[]),
    ("POST /api/links", JSON, "", 400, "bad-request", &[]),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/"} and more"#, 400, "bad-request", &[]),
    ("POST /api/links", JSON, "{\"target\":\"https://example.com/\u{1}\"}", 400, "bad-request", &[]),
    ("POST /api/links", "", r#"{"target":"https://example.com/"}"#, 415, "unsupported-media-type", &[]),
    ("POST /api/links", "text/plain", r#"{"target":"https://example.com/"}"#, 415, "unsupported-media-type", &[]),
    ("POST /api/links", "application/x-www-form-urlencoded", "target=x", 415, "unsupported-media-type", &[]),
    ("POST /links", JSON, "{}", 415, "unsupported-media-type", &[]),
    ("POST /api/links", JSON, r#"["https://example.com/",null,null]"#, 422, "invalid-input", &[]),
    ("POST /api/links", JSON, "null", 422, "invalid-input", &[]),
    ("POST /api/links", JSON, "[]", 422, "invalid-input", &[]),
    ("POST /api/links", JSON, "{}", 422, "invalid-input", &["target"]),
    ("POST /api/links", JSON, r#"{"target":null}"#, 422, "invalid-input", &["target"]),
    ("POST /api/links", JSON, r#"{"target":7}"#, 422, "invalid-input", &["target"]),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/","code":"x"}"#, 422, "invalid-input", &["code"]),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/","alias":["x"]}"#, 422, "invalid-input", &["alias"]),
    // Fields
    ("POST /api/links", JSON, r#"{"target":""}"#, 422, "invalid-input", &["target"]),
    ("POST /api/links", JSON, r#"{"target":"not an address"}"#, 422, "invalid-input", &["target"]),
    ("POST /api/links", JSON, r#"{"target":"javascript:alert(1)"}"#, 422, "invalid-input", &["target"]),
    (
        "POST /api/links",
        JSON,
        r#"{"target":"https://example.com/\r\nset-cookie: a=b"}"#,
        422,
        "invalid-input",
        &["target"],
    ),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/","alias":""}"#, 422, "invalid-input", &["alias"]),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/","alias":"a/b"}"#, 422, "invalid-input", &["alias"]),
    (
        "POST /api/links",
        JSON,
        r#"{"target":"https://example.com/","expires_at":"2001-01-01T00:00:00Z"}"#,
        422,
        "invalid-input",
        &["expires_at"],
    ),
    (
        "POST /api/links",
        JSON,
        r#"{"target":"https://example.com/","expires_at":"tomorrow"}"#,
        422,
        "invalid-input",
        &["expires_at"],
    ),
    (
        "POST /api/links",
        JSON,
        r#"{"target":"https://example.com/","expires_at":2000000000}"#,
        422,
        "invalid-input",
        &["expires_at"],
    ),
    (
        "POST /api/links",
        JSON,
        r#"{"target":"ftp://x","alias":"a b","expires_at":"never"}"#,
        422,
        "invalid-input",
        &["target", "alias", "expires_at"],
    ),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/","alias":"taken"}"#, 409, "alias-taken", &["alias"]),
    ("POST /api/links", JSON, r#"{"target":"https://example.com/","alias":"api"}"#, 409, "alias-reserved", &["alias"]),
    (
        "POST /api/links",
        JSON,
        r#"{"target":"https://example.com/","alias":"HealthZ"}"#,
        409,
        "alias-reserved",
        &["alias"],
    ),
    ("PATCH /api/links/taken", JSON, r#"{"target":null}"#, 422, "invalid-input", &["target"]),
    ("PATCH /api/links/taken", JSON, r#"{"banned":null}"#, 422, "invalid-input", &["banned"]),
    ("PATCH /api/links/taken", JSON, r#"{"banned":"yes"}"#, 422, "invalid-input", &["banned"]),
    ("PATCH /api/links/taken", JSON, r#"{"target":"gopher://x"}"#, 422, "invalid-input", &["target"]),
    ("PATCH /api/links/taken", JSON, r#"{"alias":"other"}"#, 422, "invalid-input", &["alias"]),
    ("PATCH /api/links/taken", JSON, r#"{"expires_at":"2001-01-01T00:00:00Z"}"#, 422, "invalid-input", &["expires_at"]),
    // Pages
    ("GET /api/links?page=0", "", "", 422, "invalid-input", &["page"]),
    ("GET /api/links?page=-1", "", "", 422, "invalid-input", &["page"]),
    ("GET /api/links?page=one", "", "", 422, "invalid-input", &["page"]),
    ("GET /api/links?page=", "", "", 422, "invalid-input", &["page"]),
    ("GET /api/links?page=4294967296", "", "", 422, "invalid-input", &["page"]),
    ("GET /api/links?page=100000", "", "", 422, "invalid-input", &["page"]),
    ("GET /api/links?per_page=0", "", "", 422, "invalid-input", &["per_page"]),
    ("GET /api/links?per_page=201", "", "", 422, "invalid-input", &["per_page"]),
    ("GET /api/links?sort=up", "", "", 422, "invalid-input", &["sort"]),
    ("GET /api/links?q=a&q=b", "", "", 422, "invalid-input", &["q"]),
    ("GET /api/links?q=a%00b", "", "", 422, "invalid-input", &["q"]),
    ("GET /?q=%00", "", "", 422, "invalid-input", &["q"]),
    // Codes and addresses
    (
        "POST /api/links",
        JSON,
        r#"{"target":"https://example.com/","alias":"links"}"#,
        409,
        "alias-reserved",
        &["alias"],
    ),
    ("GET /api/links/nobody", "", "", 404, "unknown-code", &[]),
    ("GET /api/links/no.body", "", "", 404, "unknown-code", &[]),
    ("PATCH /api/links/nobody", JSON, "{}", 404, "unknown-code", &[]),
    ("DELETE /api/links/nobody", "", "", 404, "unknown-code", &[]),
    ("GET /nobody", "", "", 404, "unknown-code", &[]),
    ("GET /TAKEN", "", "", 404, "unknown-code", &[]),
    ("GET /favicon.ico", "", "", 404, "unknown-code", &[]),
    ("GET /%00", "", "", 404, "unknown-code", &[]),
    ("GET /%ff", "", "", 400, "bad-request", &[]),
    ("GET /api/links/%ff", "", "", 400, "bad-request", &[]),
    ("GET /nobody/", "", "", 404, "unknown-code", &[]),
    ("GET /docs/", "", "", 404, "unknown-code", &[]),
    ("GET /a/b", "", "", 404, "not-found", &[]),
    ("GET /api", "", "", 404, "unknown-code", &[]),
    ("GET /api/nothing", "", "", 404, "not-found", &[]),
    ("GET /assets/missing.css", "", "", 404, "not-found", &[]),
    ("PUT /api/links", JSON, "{}", 405, "method-not-allowed", &[]),
    ("DELETE /taken", "", "", 405, "method-not-allowed", &[]),
    ("POST /healthz", "", "", 405, "method-not-allowed", &[]),
];

// shows: S7, hazard S30, hazard S39
#[tokio::test]
async fn each_invalid_request_names_its_problem_and_fields() {
    let server = Server::start();
    server.client.make(&json!({ "target": "https://example.com/", "alias": "taken" })).await;
    for (request, content_type, body, status, slug, fields) in CASES {
        let (method, path) = request.split_once(' ').unwrap();
        let headers = [("content-type", *content_type)];
        let headers = if content_type.is_empty() { &[][..] } else { &headers[..] };
        let answer = server.client.send(method, path, headers, body.as_bytes()).await;
        check(&answer, &format!("{request} {body}"), *status, slug, fields);
    }
    assert_eq!(server.client.get("/api/links").await.value()["total"], 1, "no mistake made a link");
}

fn check(answer: &Response, request: &str, status: u16, slug: &str, fields: &[&str]) {
    assert_eq!(answer.status, status, "{request}: {}", answer.text());
    let problem = answer.problem(status, slug);
    let no_errors = Vec::new();
    let errors = problem["errors"].as_array().unwrap_or(&no_errors);
    let named: Vec<&str> = errors.iter().map(|error| error["field"].as_str().unwrap()).collect();
    assert_eq!(named, fields, "{request}: {problem}");
    assert!(!problem["detail"].as_str().unwrap().contains("`detail`"), "{request}: {problem}");
    assert!(errors.iter().all(|error| error["detail"].as_str().unwrap().ends_with('.')), "{request}: {problem}");
    assert_eq!(answer.header("x-short-id").unwrap().len(), 8);
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("allow").is_some(), status == 405, "{request}");
}

// shows: S7
#[tokio::test]
async fn body_above_64_kib_is_refused() {
    let server = Server::start();
    let body = |length: usize| {
        let start = r#"{"target":"https://example.com/"#;
        format!("{start}{}\"}}", "a".repeat(length - start.len() - 2))
    };
    let send = async |body: &str, headers: &[(&str, &str)]| {
        server.client.send("POST", "/api/links", headers, body.as_bytes()).await
    };
    let json = ("content-type", JSON);
    // The largest body is read; its target is too long for a link.
    send(&body(65_536), &[json]).await.problem(422, "invalid-input");
    send(&body(65_537), &[json]).await.problem(413, "body-too-large");
    send(&body(1_000_000), &[json]).await.problem(413, "body-too-large");
    // Also without a `Content-Length`.
    let chunked = |body: &str| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let endless = ("transfer-encoding", "chunked");
    send(&chunked(&body(65_536)), &[json, endless]).await.problem(422, "invalid-input");
    send(&chunked(&body(65_537)), &[json, endless]).await.problem(413, "body-too-large");
}

/// They had empty bodies, because no handler sees such requests.
// shows: hazard S39a
#[tokio::test]
async fn request_that_the_http_server_refuses_has_a_problem_document() {
    let server = Server::start();
    let get =
        |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").into_bytes();
    let headers: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    for (request, status, slug) in [
        (get(&format!("/{}", "a".repeat(70_000)), ""), 414, "uri-too-long"),
        (get("/", &headers), 431, "headers-too-large"),
        (get("/", &format!("x: {}\r\n", "a".repeat(500_000))), 431, "headers-too-large"),
        (get("/", "content-length: -1\r\n"), 400, "bad-request"),
        (b"G\0T / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), 400, "bad-request"),
    ] {
        let answer = server.client.raw(&request, false).await.unwrap();
        answer.problem(status, slug);
        assert_eq!(answer.header("x-short-id").map(str::len), Some(8));
    }
    let docs = server.client.get("/docs").await;
    assert!(docs.text().contains("id=\"uri-too-long\"") && docs.text().contains("id=\"headers-too-large\""));
}

// shows: hazard S30
#[tokio::test]
async fn target_or_search_above_8000_bytes_is_refused() {
    let server = Server::start();
    // Regression: SQLite does not take a longer pattern, and the answer was that the database cannot be reached.
    let search = |length: usize| format!("/api/links?q={}", "x".repeat(length));
    assert_eq!(server.client.get(&search(8_000)).await.status, 200);
    for length in [8_001, 50_000] {
        assert_eq!(server.client.get(&search(length)).await.problem(422, "invalid-input")["errors"][0]["field"], "q");
    }
    let target = |length: usize| format!("https://example.com/{}", "a".repeat(length - 20));
    let code = server.client.make(&json!({ "target": target(8000) })).await;
    assert_eq!(server.client.get(&format!("/{code}")).await.header("location"), Some(target(8000).as_str()));
    let refused = server.client.json("POST", "/api/links", &json!({ "target": target(8001) })).await;
    refused.problem(422, "invalid-input");
}

#[tokio::test]
async fn link_to_service_itself_is_refused_as_loop() {
    let server = Server::start();
    let own = format!("http://{}/abc", server.client.address);
    let refused =
        server.client.json("POST", "/api/links", &json!({ "target": own })).await.problem(422, "invalid-input");
    assert!(refused["detail"].as_str().unwrap().contains("loop"), "{refused}");
}

#[tokio::test]
async fn browser_gets_problem_as_page() {
    let server = Server::start();
    let html = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = server.client.send("GET", "/nobody", &html, b"").await;
    assert_eq!(page.status, 404);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert!(page.text().contains("Unknown code"), "{}", page.text());
    let page = server.client.send("GET", "/a/b", &html, b"").await;
    assert!(page.status == 404 && page.text().contains("This address does not exist."), "{}", page.text());
    // The API answers JSON to every client.
    server.client.send("GET", "/api/links/nobody", &html, b"").await.problem(404, "unknown-code");
}
