//! Every text that a client may send, on each database: the same answer, which is never an error of the server.

use crate::web::client::Response;
use crate::web::server::Server;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use testkit::park::{mariadb_database, postgres_database};

/// What databases treat differently, or do not store: NUL, wildcards, quotes, letters that a collation takes for others, characters of four bytes,
/// controls, and more than a pattern may have.
fn texts() -> Vec<String> {
    let long = "x".repeat(50_000);
    let texts = [
        "\0",
        "a\0b",
        "%",
        "_",
        "\\",
        "'",
        "\"; --",
        "\u{fc}",
        "u",
        "\u{df}",
        "\u{1f600}",
        "\u{10ffff}",
        "\u{202e}",
        "\r\n",
        " ",
        "",
    ];
    texts.into_iter().chain([long.as_str()]).map(str::to_owned).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A request: method, path, and a body.
type Request = (String, String, Option<Value>);

/// The requests with each text in each place of the document that takes one: parameters, and fields of bodies.
fn requests(document: &Value) -> Vec<Request> {
    let mut requests = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str();
            let filled = |text: &str| path.replace("{code}", text).replace("{number}", "1");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap();
                for text in texts() {
                    let path = match parameter["in"].as_str().unwrap() {
                        "query" => format!("{}?{name}={}", filled("some"), encoded(&text)),
                        "path" => path.replace(&format!("{{{name}}}"), &encoded(&text)),
                        _ => continue,
                    };
                    requests.push((method.to_uppercase(), path, schema.map(|_| json!({}))));
                }
            }
            let Some(schema) = schema else { continue };
            for (body, pointer) in bodies(document, schema) {
                for text in texts() {
                    let mut body = body.clone();
                    *body.pointer_mut(&pointer).unwrap() = Value::String(text);
                    requests.push((method.to_uppercase(), filled("some"), Some(body)));
                }
            }
        }
    }
    // The pages take texts, too.
    requests.extend(texts().iter().map(|text| ("GET".to_owned(), format!("/?q={}", encoded(text)), None)));
    requests.extend(texts().iter().map(|text| ("GET".to_owned(), format!("/links/{}", encoded(text)), None)));
    // Before links are made, whose codes are random.
    requests.sort_by_key(|(method, ..)| method != "GET");
    requests
}

/// A body of this schema for each of its fields that may be a text, and where the field is.
fn bodies(document: &Value, schema: &str) -> Vec<(Value, String)> {
    let resolved = |schema: &str| document.pointer(schema.trim_start_matches('#')).unwrap()["properties"].clone();
    let fields = resolved(schema);
    let mut bodies = Vec::new();
    for (name, field) in fields.as_object().unwrap() {
        if let Some(row) = field["items"]["$ref"].as_str() {
            for (row_body, pointer) in bodies_of_row(&resolved(row)) {
                bodies.push((json!({ name: [row_body] }), format!("/{name}/0{pointer}")));
            }
        }
    }
    bodies.extend(bodies_of_row(&fields).into_iter().filter(|_| bodies_are_flat(&fields)));
    bodies
}

fn bodies_are_flat(fields: &Value) -> bool {
    !fields.as_object().unwrap().values().any(|field| field["items"]["$ref"].is_string())
}

/// With a target, which a new link needs.
fn bodies_of_row(fields: &Value) -> Vec<(Value, String)> {
    let is_text = |field: &Value| {
        field["type"] == "string" || field["type"].as_array().is_some_and(|types| types.contains(&json!("string")))
    };
    let texts = fields.as_object().unwrap().iter().filter(|(_, field)| is_text(field));
    texts
        .map(|(name, _)| {
            let mut body = json!({ "target": "https://example.com/" });
            body[name] = Value::Null;
            (body, format!("/{name}"))
        })
        .collect()
}

async fn send(server: &Server, (method, path, body): &Request) -> Response {
    match body {
        Some(body) => server.client.json(method, path, body).await,
        None => server.client.send(method, path, &[], b"").await,
    }
}

/// Regression: NUL was "cannot be reached" on PostgreSQL and matched all on SQLite, a long text was "cannot be reached" on SQLite, and `\u{fc}` found
/// `u` on MariaDB.
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
        requests.iter().any(|(_, path, body)| {
            path.contains(name) || body.as_ref().is_some_and(|body| body.to_string().contains(name))
        })
    };
    assert!(["?q=", "/api/links/%", "\"alias\"", "\"rows\""].into_iter().all(takes_a_text), "{}", requests.len());
    for request in &requests {
        let mut answers = Vec::new();
        for server in &servers {
            let response = send(server, request).await;
            let shown: String = format!("{request:?}").chars().take(200).collect();
            assert!(response.status < 500, "{shown}: {}", response.text());
            let is_json = response.status == 200 && response.header("content-type") == Some("application/json");
            let value = if is_json { response.value() } else { Value::Null };
            answers.push((shown, response.status, value["total"].clone(), value["outcomes"][0]["outcome"].clone()));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    }
}
