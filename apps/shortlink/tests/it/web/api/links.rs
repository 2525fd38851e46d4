//! `/api/links`: creating, reading, changing, deleting and listing.

use crate::web::server::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn api_creates_reads_changes_and_deletes_link() {
    let server = Server::start();
    let api = &server.client;
    let target = "https://example.com/a?b=c#d";

    let made = api.json("POST", "/api/links", &json!({ "target": target })).await;
    assert_eq!((made.status, made.consistency()), (201, "consistent"));
    let link = made.value();
    let code = link["code"].as_str().unwrap();
    assert_eq!(code.len(), 7);
    assert!(code.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{code}");
    assert_eq!(made.header("location"), Some(format!("/api/links/{code}").as_str()));
    assert_eq!(made.header("etag"), Some(format!("\"{}\"", link["version"]).as_str()));
    assert_eq!(link["target"], target);
    assert_eq!((&link["alias"], &link["expires_at"]), (&Value::Null, &Value::Null));
    assert_eq!(link["short_url"], format!("http://{}/{code}", api.address));
    assert_eq!(link["created_at"], link["updated_at"]);
    assert_eq!(link["banned"], false);
    assert_eq!(link.as_object().unwrap().len(), 9, "{link}");

    let path = format!("/api/links/{code}");
    let read = api.get(&path).await;
    assert_eq!((read.status, read.value()), (200, link.clone()));
    assert_eq!(read.header("etag"), made.header("etag"));

    let patch = json!({ "target": "https://example.com/new", "expires_at": "2090-01-02T03:04:05Z" });
    let changed = api.json("PATCH", &path, &patch).await;
    assert_eq!((changed.status, changed.consistency()), (200, "consistent"));
    let after = changed.value();
    assert_eq!(after["target"], "https://example.com/new");
    assert_eq!(after["expires_at"], "2090-01-02T03:04:05Z");
    assert_eq!(after["created_at"], link["created_at"]);
    assert!(after["version"].as_i64() > link["version"].as_i64());

    let deleted = api.delete(&path).await;
    assert_eq!((deleted.status, deleted.consistency(), deleted.text()), (204, "consistent", ""));
    api.get(&path).await.problem(404, "unknown-code");
    api.get(&format!("/{code}")).await.problem(404, "unknown-code");
}

#[tokio::test]
async fn alias_is_case_sensitive_and_reusable_after_delete() {
    let server = Server::start();
    let api = &server.client;
    let made =
        api.json("POST", "/api/links", &json!({ "target": "https://example.com/1", "alias": "Spring_Sale-1" })).await;
    let link = made.value();
    assert_eq!((&link["code"], &link["alias"]), (&json!("Spring_Sale-1"), &json!("Spring_Sale-1")));

    // Codes are compared byte for byte.
    assert_eq!(
        api.make(&json!({ "target": "https://example.com/2", "alias": "spring_sale-1" })).await,
        "spring_sale-1"
    );
    assert_eq!(api.get("/Spring_Sale-1").await.header("location"), Some("https://example.com/1"));
    assert_eq!(api.get("/spring_sale-1").await.header("location"), Some("https://example.com/2"));

    assert_eq!(api.delete("/api/links/Spring_Sale-1").await.status, 204);
    api.make(&json!({ "target": "https://example.com/3", "alias": "Spring_Sale-1" })).await;
    assert_eq!(api.get("/Spring_Sale-1").await.header("location"), Some("https://example.com/3"));
}

#[tokio::test]
async fn patch_keeps_omitted_fields() {
    let server = Server::start();
    let api = &server.client;
    let end = "2090-01-01T00:00:00.25Z";
    let code = api.make(&json!({ "target": "https://example.com/", "expires_at": end })).await;
    let path = format!("/api/links/{code}");

    let empty = api.json("PATCH", &path, &json!({})).await.value();
    assert_eq!((&empty["target"], &empty["expires_at"]), (&json!("https://example.com/"), &json!(end)));

    let moved = api.json("PATCH", &path, &json!({ "target": "https://example.com/x" })).await.value();
    assert_eq!((&moved["target"], &moved["expires_at"]), (&json!("https://example.com/x"), &json!(end)));

    let merge_patch = [("content-type", "application/merge-patch+json; charset=utf-8")];
    let endless = api.send("PATCH", &path, &merge_patch, br#"{"expires_at": null}"#).await.value();
    assert_eq!((&endless["target"], &endless["expires_at"]), (&json!("https://example.com/x"), &Value::Null));
}

// shows: hazard S39
#[tokio::test]
async fn if_match_refuses_change_of_newer_version() {
    let server = Server::start();
    let api = &server.client;
    let code = api.make(&json!({ "target": "https://example.com/1" })).await;
    let path = format!("/api/links/{code}");
    let tag = api.get(&path).await.header("etag").unwrap().to_owned();
    let change = async |tag: &str, target: &str| {
        let headers = [("content-type", "application/json"), ("if-match", tag)];
        api.send("PATCH", &path, &headers, json!({ "target": target }).to_string().as_bytes()).await
    };

    let first = change(&tag, "https://example.com/2").await;
    assert_eq!(first.status, 200);
    change(&tag, "https://example.com/3").await.problem(412, "version-conflict");
    change("\"tag-of-another-client\"", "https://example.com/3").await.problem(412, "version-conflict");
    assert_eq!(api.get(&path).await.value()["target"], "https://example.com/2");
    assert_eq!(change(first.header("etag").unwrap(), "https://example.com/4").await.status, 200);
    assert_eq!(change("*", "https://example.com/5").await.status, 200);
    // A list matches if one of its tags does.
    let now = api.get(&path).await.header("etag").unwrap().to_owned();
    change(&format!("{tag}, W/{now}, \"other\""), "https://example.com/6").await.problem(412, "version-conflict");
    assert_eq!(change(&format!("{tag}, {now}"), "https://example.com/6").await.status, 200);
    change(&format!("{tag},{now}"), "https://example.com/7").await.problem(412, "version-conflict");
}

/// A conditional delete must not delete a newer version.
#[tokio::test]
async fn if_match_refuses_delete_of_newer_version() {
    let server = Server::start();
    let api = &server.client;
    let code = api.make(&json!({ "target": "https://example.com/1" })).await;
    let path = format!("/api/links/{code}");
    let seen = api.get(&path).await.header("etag").unwrap().to_owned();
    let changed = api.json("PATCH", &path, &json!({ "target": "https://example.com/2" })).await;
    let delete = async |tag: &str| api.send("DELETE", &path, &[("if-match", tag)], b"").await;
    delete(&seen).await.problem(412, "version-conflict");
    delete("W/\"1\"").await.problem(412, "version-conflict");
    assert_eq!(api.get(&format!("/{code}")).await.header("location"), Some("https://example.com/2"));
    let deleted = delete(changed.header("etag").unwrap()).await;
    assert_eq!((deleted.status, deleted.consistency()), (204, "consistent"));
    delete(&seen).await.problem(404, "unknown-code");
}

#[tokio::test]
async fn list_is_paged_and_searchable() {
    let server = Server::start();
    let api = &server.client;
    for number in 0..5 {
        api.make(&json!({ "target": format!("https://example.com/{number}"), "alias": format!("link-{number}") }))
            .await;
    }
    api.make(&json!({ "target": "https://example.org/50%_off", "alias": "offer" })).await;
    let list = async |query: &str| {
        let answer = api.get(&format!("/api/links{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let value = answer.value();
        let codes: Vec<String> =
            value["links"].as_array().unwrap().iter().map(|link| link["code"].as_str().unwrap().to_owned()).collect();
        (codes, value)
    };

    let (codes, page) = list("").await;
    assert_eq!(codes, ["offer", "link-4", "link-3", "link-2", "link-1", "link-0"], "newest first");
    assert_eq!((&page["page"], &page["per_page"], &page["total"]), (&json!(1), &json!(20), &json!(6)));
    assert_eq!(page["total_is_capped"], false);
    assert_eq!(list("?per_page=4&page=2").await.0, ["link-1", "link-0"]);
    assert_eq!(list("?page=3").await.0, Vec::<String>::new());
    assert_eq!(list("?q=EXAMPLE.ORG").await.0, ["offer"]);
    assert_eq!(list("?q=link-3").await.0, ["link-3"]);
    // Wildcards of LIKE are literal.
    assert_eq!(list("?q=50%25_off").await.0, ["offer"]);
    assert_eq!(list("?q=%25").await.0, ["offer"]);
    assert_eq!(list("?q=nothing+has+this").await.0, Vec::<String>::new());
}

#[tokio::test]
async fn links_survive_restart() {
    let server = Server::start();
    let code = server.client.make(&json!({ "target": "https://example.com/kept" })).await;
    let before = server.client.get("/api/links").await.value();
    let server = server.restart().await;
    assert_eq!(server.client.get(&format!("/{code}")).await.header("location"), Some("https://example.com/kept"));
    let mut after = server.client.get("/api/links").await.value();
    after["links"][0]["short_url"] = before["links"][0]["short_url"].clone();
    assert_eq!(after, before, "only the port is another");
    assert_ne!(server.client.make(&json!({ "target": "https://example.com/next" })).await, code);
}

#[tokio::test]
async fn probes_and_metrics_report_state() {
    let server = Server::start();
    let api = &server.client;
    assert_eq!(api.get("/healthz").await.text(), "ok\n");
    let ready = api.get("/readyz").await;
    assert_eq!((ready.status, ready.value()), (200, json!({ "database": "up", "redis": "embedded" })));

    let code = api.make(&json!({ "target": "https://example.com/" })).await;
    for _ in 0..3 {
        assert_eq!(api.get(&format!("/{code}")).await.status, 302);
    }
    api.get("/none").await.problem(404, "unknown-code");
    let metrics = api.get("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = metrics.text();
    for line in [
        r#"shortlink_http_requests_total{route="redirect",status="3xx"} 3"#,
        r#"shortlink_http_requests_total{route="redirect",status="4xx"} 1"#,
        r#"shortlink_http_requests_total{route="api",status="2xx"} 1"#,
        r#"shortlink_http_request_seconds_count{route="redirect"} 4"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert!(text.contains("evenkeel_cache_hits_total{cache=\"link\""), "{text}");
}
