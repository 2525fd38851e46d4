//! `/api/import` and `/api/export`.

use crate::web::server::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn import_is_idempotent_and_reports_each_row() {
    let server = Server::start();
    let api = &server.client;
    let rows = json!({ "rows": [
        { "target": "https://example.com/1" },
        { "target": "https://example.com/2", "code": "two", "alias": true, "expires_at": "2001-01-01T00:00:00Z",
          "created_at": "2000-01-01T00:00:00Z", "updated_at": "2000-06-01T00:00:00Z", "version": 7 },
        { "target": "gopher://example.com/" },
        { "target": "https://example.com/4", "code": "api" },
        { "target": "https://example.com/1" },
        { "target": "https://example.com/other", "code": "two" },
    ] });
    let outcomes = async || {
        let answer = api.json("POST", "/api/import", &rows).await;
        assert_eq!((answer.status, answer.consistency()), (200, "consistent"), "{}", answer.text());
        answer.value()["outcomes"].as_array().unwrap().clone()
    };
    let named =
        |outcomes: &[Value]| outcomes.iter().map(|row| row["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>();

    let first = outcomes().await;
    assert_eq!(named(&first), ["created", "created", "refused", "refused", "present", "taken"]);
    assert_eq!(first[1]["code"], "two");
    assert!(first[2]["detail"].as_str().unwrap().contains("gopher"), "{first:?}");
    let second = outcomes().await;
    assert_eq!(named(&second), ["present", "present", "refused", "refused", "present", "taken"]);

    let two = api.get("/api/links/two").await.value();
    assert_eq!((&two["version"], &two["created_at"]), (&json!(7), &json!("2000-01-01T00:00:00Z")));
    api.get("/two").await.problem(410, "link-expired");
    assert_eq!(api.get("/api/links").await.value()["total"], 2);
}

/// A code that was requested before its import has a negative cache entry; the import invalidates it.
// shows: S2
#[tokio::test]
async fn imported_link_redirects_at_once() {
    let server = Server::start();
    server.client.get("/soon").await.problem(404, "unknown-code");
    let rows = json!({ "rows": [{ "target": "https://example.com/", "code": "soon" }] });
    server.client.json("POST", "/api/import", &rows).await;
    assert_eq!(server.client.get("/soon").await.status, 302);
}

#[tokio::test]
async fn export_returns_every_link_and_round_trips() {
    let server = Server::start();
    // More rows than are read at a time, so that the export has several chunks.
    for batch in 0..3 {
        let rows: Vec<Value> =
            (0..450).map(|row| json!({ "target": format!("https://example.com/{batch}/{row}") })).collect();
        let answer = server.client.json("POST", "/api/import", &json!({ "rows": rows })).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let export = server.client.get("/api/export").await;
    assert_eq!((export.status, export.header("content-type")), (200, Some("application/jsonl")));
    let rows: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 1350);

    let other = Server::start();
    for rows in rows.chunks(200) {
        let answer = other.client.json("POST", "/api/import", &json!({ "rows": rows })).await;
        assert!(answer.value()["outcomes"].as_array().unwrap().iter().all(|row| row["outcome"] == "created"));
    }
    assert_eq!(other.client.get("/api/export").await.text(), export.text());
}

#[tokio::test]
async fn import_refuses_too_many_rows_and_unknown_fields() {
    let server = Server::start();
    let rows: Vec<Value> = (0..501).map(|row| json!({ "target": format!("https://example.com/{row}") })).collect();
    let refused =
        server.client.json("POST", "/api/import", &json!({ "rows": rows })).await.problem(422, "invalid-input");
    assert_eq!(refused["errors"][0]["field"], "rows");
    let unknown = json!({ "rows": [{ "target": "https://example.com/", "visits": 7 }] });
    let refused = server.client.json("POST", "/api/import", &unknown).await.problem(422, "invalid-input");
    assert_eq!(refused["errors"][0]["field"], "rows[0].visits");
    assert_eq!(server.client.get("/api/links").await.value()["total"], 0);
}
