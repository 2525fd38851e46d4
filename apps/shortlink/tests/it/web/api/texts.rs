//! Every text that a client may send, on each database: the same answer, which is never an error of the server.

use crate::web::client::Response;
use crate::web::server::Server;
use serde_json::{Value, json};
use testkit::park::{mariadb_database, postgres_database};
use testkit::texts::{TextRequest, of_document, of_form, of_page};

/// What the API and the pages take.
fn requests(document: &Value) -> Vec<TextRequest> {
    let segments = json!({ "code": "some", "number": "1" });
    let mut requests = of_document(document, &segments, &json!({ "target": "https://example.com/" }));
    requests.extend(of_page("/", "q"));
    requests.extend(of_page("/links/{code}", "code"));
    let link = [("target", "https://example.com/"), ("alias", ""), ("expires_at", "")];
    requests.extend(of_form("/links", &link));
    requests.extend(of_form("/links/some", &[link[0], link[2], ("version", "1")]));
    // Before links are made, whose codes are random.
    requests.sort_by_key(|request| request.method != "GET");
    requests
}

async fn send(server: &Server, request: &TextRequest) -> Response {
    let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<(&str, &str)> = headers.collect();
    server.client.send(&request.method, &request.path, &headers, &request.body).await
}

/// Regression: NUL was "cannot be reached" on PostgreSQL and matched all on SQLite, a long text was "cannot be reached" on SQLite, and `\u{fc}` found
/// `u` on MariaDB.
// shows: hazard S30, hazard S30a
#[tokio::test]
async fn every_text_has_one_answer_on_sqlite_mariadb_and_postgres() {
    let (mariadb, postgres) = (mariadb_database().await.unwrap(), postgres_database().await.unwrap());
    let on = |url: &str| Server::start_with(&["--database", url]);
    let servers = [Server::start(), on(&mariadb.url), on(&postgres.url)];
    for server in &servers {
        for (alias, path) in [("some", "some"), ("umlaut", "%C3%BC"), ("plain", "u"), ("wild", "a_b")] {
            server.client.make(&json!({ "target": format!("https://example.com/{path}"), "alias": alias })).await;
        }
    }
    let document = servers[0].client.get("/openapi.json").await.value();
    let requests = requests(&document);
    let takes_a_text = |name: &str| {
        let is_in = |bytes: &[u8]| bytes.windows(name.len()).any(|part| part == name.as_bytes());
        requests.iter().any(|request| request.path.contains(name) || is_in(&request.body))
    };
    assert!(["?q=", "/api/links/%", "\"alias\"", "\"rows\""].into_iter().all(takes_a_text), "{}", requests.len());
    for request in &requests {
        let mut answers = Vec::new();
        for server in &servers {
            let response = send(server, request).await;
            assert!(response.status < 500, "{request:?}: {}", response.text());
            let is_json = response.status == 200 && response.header("content-type") == Some("application/json");
            let value = if is_json { response.value() } else { Value::Null };
            answers.push((response.status, value["total"].clone(), value["outcomes"][0]["outcome"].clone()));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{request:?}: {answers:#?}");
    }
}
