//! Every text that a client may send, on each database: the same answer, which is never an error of the server.

use super::support::client::Response;
use super::support::server::Server;
use serde_json::{Value, json};
use testkit::park::{mariadb_database, postgres_database};
use testkit::texts::{TextRequest, of_document, of_form, of_page};

/// What the API and the pages take. `{id}` is left for an order of the server.
fn requests(document: &Value) -> Vec<TextRequest> {
    let arrival = json!({ "commodityName": "u", "quantity": 1, "day": "2026-11-21", "card": "approved" });
    let mut requests = of_document(document, &json!({}), &arrival);
    for name in ["commodityName", "startDate", "endDate", "page", "arrived", "added", "reserved", "released"] {
        requests.extend(of_page("/", name));
    }
    requests.extend(of_page("/orders/{id}", "id"));
    let order = [("commodityName", "u"), ("quantity", "1")];
    requests.extend(of_form("/arrivals", &[order[0], order[1], ("day", "2026-11-21"), ("strategy", "")]));
    requests.extend(of_form("/products", &[("name", "")]));
    requests.extend(of_form("/orders", &order));
    requests.extend(of_form("/orders/{id}/pay", &[("card", "approved"), ("key", "key")]));
    requests
}

/// Sends it, for a new order if it needs one.
async fn send(server: &Server, request: &TextRequest) -> Response {
    let mut path = request.path.clone();
    if path.contains("{id}") {
        let order = server.client.post("/api/orders", &json!({ "commodityName": "u", "quantity": 1 })).await.is(201);
        path = path.replace("{id}", order["id"].as_str().unwrap());
    }
    let headers: String = request.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    server.client.send_bytes(&request.method, &path, &headers, &request.body).await
}

/// A name that a collation takes for another one, or that a database cannot store, was not tried.
// shows: hazard S30, hazard S30a
#[tokio::test]
async fn every_text_has_one_answer_on_sqlite_mariadb_and_postgres() {
    let (mariadb, postgres) = (mariadb_database().await.unwrap(), postgres_database().await.unwrap());
    let on = |url: &str| Server::start_with(&["--cap", "1000000", "--database", url]);
    let servers = [Server::start_with(&["--cap", "1000000"]), on(&mariadb.url), on(&postgres.url)];
    for server in &servers {
        for name in ["u", "apples"] {
            server.client.post("/api/products", &json!({ "name": name })).await.is(201);
        }
        server.receive("u", 10_000, "2026-11-20").await;
    }
    let document = servers[0].client.get("/openapi.json").await.value();
    let requests = requests(&document);
    let takes_a_text = |name: &str| {
        let is_in = |bytes: &[u8]| bytes.windows(name.len()).any(|part| part == name.as_bytes());
        requests.iter().any(|request| {
            let is_header = request.headers.iter().any(|(header, _)| header == name);
            is_header || request.path.contains(name) || is_in(&request.body)
        })
    };
    let places = [
        "?commodityName=",
        "/api/orders/%",
        "/api/payments/%",
        "/api/products/%",
        "\"name\"",
        "\"card\"",
        "\"day\"",
        "idempotency-key",
        "?strategy=",
    ];
    for place in places {
        assert!(takes_a_text(place), "{place}: {}", requests.len());
    }
    for request in &requests {
        let mut answers = Vec::new();
        for server in &servers {
            let response = send(server, request).await;
            assert!(response.status < 500, "{request:?}: {}", response.text);
            let is_json = response.header("content-type").is_some_and(|kind| kind.ends_with("json"));
            let value = if is_json { response.value() } else { Value::Null };
            answers.push((response.status, value["type"].clone(), value["total"].clone(), value["stock"].clone()));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{request:?}: {answers:#?}");
    }
}

/// What no database stores is invalid input, and the answer names the field.
// shows: hazard S30a
#[tokio::test]
async fn text_that_no_database_stores_is_invalid_input() {
    let server = Server::start();
    for name in ["\0", "a\0b", "\r\n", &"x".repeat(50_000)] {
        let refused = server.client.post("/api/products", &json!({ "name": name })).await;
        refused.problem(422, "invalid-input");
        assert_eq!(refused.value()["errors"][0]["field"], "name", "{}", refused.text);
    }
}
