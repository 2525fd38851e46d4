//! Scopes of API keys, limits, and what a page of another site can make a browser send.

use super::caller::{Caller, ROOT, answer, problem};
use crate::console::routes::{Row, routes};
use crate::console::server::Console;
use futures_util::future::join_all;
use serde_json::json;

/// The scope that each action needs, in the form that permits it on `mail`.
fn scope_of(action: &str) -> &'static str {
    match action {
        "read" => "read",
        "bodies" => "bodies",
        "delete" | "seek" | "unregister" | "break" | "create" => "admin",
        "enqueue" => "enqueue:mail",
        "append" => "append:orders",
        "work" => "work:mail",
        "lock" => "lock:",
        "invalidate" => "invalidate:mail",
        _ => "operate",
    }
}

#[tokio::test]
async fn every_api_route_needs_its_scope() {
    let console = Console::start(true).await;
    let scopes = [
        "read",
        "bodies",
        "operate",
        "admin",
        "enqueue:mail",
        "append:orders",
        "work:mail",
        "lock:",
        "invalidate:mail",
    ];
    let keys: Vec<_> = scopes
        .iter()
        .map(|scope| (scope, Caller::key(&console, &format!("key {scope}"), &["--scope", scope])))
        .collect();
    // The OpenAPI document is public.
    let is_guarded = |(_, _, kind, action): &Row| kind.starts_with("api-") && action != "public";
    let rows: Vec<Row> = routes().into_iter().filter(is_guarded).collect();
    assert!(rows.len() > 20);
    for (method, path, _, action) in &rows {
        for (scope, key) in &keys {
            let headers =
                format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", key.token.as_ref().unwrap());
            let response = console.send(method, path, &headers, "{}").await;
            let is_permitted = **scope == scope_of(action) || (**scope == "operate" && action == "invalidate");
            assert_eq!(response.status == 403, !is_permitted, "{scope}: {method} {path}: {}", response.text);
        }
    }
}

#[tokio::test]
async fn key_of_another_topic_is_refused() {
    let console = Console::start(true).await;
    let scopes = [
        "--scope",
        "enqueue:other",
        "--scope",
        "append:other",
        "--scope",
        "work:other",
        "--scope",
        "lock:other/",
        "--scope",
        "invalidate:other",
    ];
    let key = Caller::key(&console, "shop", &scopes);
    let worker = "w".repeat(16);
    let call = json!({ "worker": worker, "sequence": 1, "want": 1, "lease_ms": 1000 });
    let lock = json!({ "name": "mail/1", "owner": "0".repeat(32), "ttl_ms": 1000 });
    let cases = [
        ("/topics/mail/jobs", json!({ "jobs": [{ "body": 1 }] })),
        ("/streams/orders/entries", json!({ "entries": [{ "key": "a", "body": 1 }] })),
        ("/topics/mail/work", call),
        ("/topics/mail/heartbeat", json!({ "worker": worker, "lease_ms": 1000 })),
        ("/locks/acquire", lock.clone()),
        ("/locks/renew", lock),
        ("/locks/release", json!({ "name": "mail/1", "owner": "0".repeat(32) })),
        ("/caches/mail/invalidate", json!({ "key": "42" })),
    ];
    for (path, body) in cases {
        let refused = key.post(path, &body).await;
        assert_eq!(problem(&refused), (403, "forbidden".to_owned(), "none".to_owned()), "{path}: {}", refused.text);
        assert!(refused.text.contains("scope"), "{}", refused.text);
    }
    assert_eq!(console.keel.topic("mail").await.unwrap().stats().await.unwrap().waiting(), 0);
    // Nor does it log in, or read.
    assert_eq!(problem(&key.get("/topics").await).0, 403);
}

#[tokio::test]
async fn cookie_does_not_open_the_api() {
    let console = Console::start(true).await;
    let (cookie, csrf) = console.visit("/login", "").await;
    let body = format!("csrf={csrf}&token={}&next=%2F", console.tokens[2]);
    let login = console.send("POST", "/login", &console.form(&cookie), &body).await;
    let set = login.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let headers = format!("cookie: {}\r\ncontent-type: application/json\r\n", set.split(';').next().unwrap());
    assert_eq!(console.get("/", &headers).await.status, 200, "logged in");
    let read = console.get(&format!("{ROOT}/topics"), &headers).await;
    assert_eq!((read.status, read.head.contains("www-authenticate: bearer")), (401, true));
    assert_eq!(console.send("POST", &format!("{ROOT}/topics/mail/pause"), &headers, "{}").await.status, 401);
}

/// Without a login only the browser stands between a page of another site and this console.
#[tokio::test]
async fn page_of_another_site_cannot_act_on_any_api_route() {
    let console = Console::start(false).await;
    for (method, path, kind, _) in routes().iter().filter(|(_, _, kind, _)| kind.starts_with("api-")) {
        for origin in ["http://evil.example", "null"] {
            let headers = format!("origin: {origin}\r\ncontent-type: application/json\r\n");
            let refused = console.send(method, path, &headers, "{}").await;
            assert_eq!(refused.status, 403, "{method} {path}: {}", refused.text);
        }
        if kind == "api-act" {
            for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
                let refused = console.send(method, path, &format!("content-type: {media_type}\r\n"), "{}").await;
                assert_eq!(refused.status, 403, "{path} as {media_type}: {}", refused.text);
            }
            assert_eq!(console.send(method, path, "", "{}").await.status, 403, "{path}");
            let is_read_too = ["/jobs", "/entries", "/topics", "/streams"].iter().any(|list| path.ends_with(list));
            assert_eq!(console.get(path, "").await.status == 405, !is_read_too, "{path}");
        }
        let response = console.send(method, path, "content-type: application/json\r\n", "{}").await;
        assert!(
            !response.head.contains("access-control-") && !response.head.contains("set-cookie"),
            "{}",
            response.head
        );
    }
}

#[tokio::test]
async fn key_beyond_its_rate_is_told_when_to_retry() {
    let console = Console::start(true).await;
    let slow = Caller::key(&console, "slow", &["--scope", "read", "--per-second", "1"]);
    let other = Caller::key(&console, "other", &["--scope", "read"]);
    // Five may come at once, and one more each second.
    let responses = join_all((0..200).map(|_| slow.get("/topics"))).await;
    let refused: Vec<_> = responses.iter().filter(|response| response.status == 429).collect();
    assert!(!refused.is_empty() && refused.len() <= 195, "{}", refused.len());
    assert!(refused[0].head.contains("retry-after: "), "{}", refused[0].head);
    assert_eq!(problem(refused[0]).1, "too-many-requests");
    answer(&other.get("/topics").await);
}

#[tokio::test]
async fn viewer_reads_no_bodies_and_no_errors_over_the_api() {
    let console = Console::start(true).await;
    console.add_dead(json!({ "shown": "visible", "card": "4111" }), "card 4111 refused").await;
    let role = |rank: usize| Caller { console: &console, token: Some(console.tokens[rank].clone()) };
    let list = role(0).read("/topics/mail/jobs?state=dead").await;
    let path = format!("/topics/mail/jobs/{}", list["jobs"][0]["id"].as_str().unwrap());
    for text in [list.to_string(), role(0).get(&path).await.text] {
        assert!(text.contains("visible") && !text.contains("4111"), "{text}");
    }
    assert_eq!(role(0).get(&format!("{path}/body")).await.status, 403);
    assert!(role(1).get(&path).await.text.contains("card 4111 refused"));
}
