//! The OpenAPI document: what it says is what there is.

use crate::web::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use web::documents::dangling_references;

#[tokio::test]
async fn openapi_document_matches_snapshot() {
    let server = Server::start();
    let answer = server.client.get("/openapi.json").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    insta::assert_snapshot!("openapi", answer.text());
}

#[tokio::test]
async fn openapi_operations_exist_and_references_resolve() {
    let server = Server::start();
    let document = server.client.get("/openapi.json").await.value();
    let (mut operations, mut names) = (0, BTreeSet::new());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].to_string()), "two operations are called as {method} {path}");
            let path = path.replace("{code}", "none").replace("{number}", "1");
            let answer = server.client.send(&method.to_uppercase(), &path, &[], b"").await;
            let is_routed = answer.status != 405 && (answer.status != 404 || answer.text().contains("unknown-code"));
            assert!(is_routed, "{method} {path}: {}", answer.status);
            assert!(
                operation["responses"][answer.status.to_string()].is_object(),
                "{method} {path}: {}",
                answer.status
            );
            operations += 1;
        }
    }
    assert!(operations >= 13, "{operations}");
    assert_eq!(dangling_references(&document), Vec::<String>::new());
}

// shows: hazard CL15
#[tokio::test]
async fn openapi_document_says_which_parameters_a_request_needs() {
    let server = Server::start();
    let document = server.client.get("/openapi.json").await.value();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{method} {path}: {parameter}");
                // No request needs a query: the test of operations sends none.
                assert_eq!(parameter["required"] == true, parameter["in"] == "path", "{method} {path}: {parameter}");
            }
        }
    }
}

/// Regression: a client learned each limit from a 422, and the version `1.0`, which is an integer to JSON Schema, was refused.
// shows: hazard PO12
#[tokio::test]
async fn openapi_document_has_the_limits_of_its_fields() {
    let server = Server::start();
    let api = &server.client;
    let document = api.get("/openapi.json").await.value();
    let field = |schema: &str, name: &str| document["components"]["schemas"][schema]["properties"][name].clone();
    for (schema, name) in [("CreateLink", "target"), ("CreateLink", "alias"), ("ChangeLink", "target")] {
        assert!(field(schema, name)["pattern"].is_string(), "{schema}.{name}");
    }
    let url = |bytes: u64| format!("https://example.com/{}", "a".repeat(usize::try_from(bytes).unwrap() - 20));
    let bytes_max = field("CreateLink", "target")["maxLength"].as_u64().unwrap();
    let make = async |target: String| api.json("POST", "/api/links", &json!({ "target": target })).await.status;
    assert_eq!((make(url(bytes_max)).await, make(url(bytes_max + 1)).await), (201, 422));

    let version = field("TransferRow", "version");
    let (low, high) = (version["minimum"].as_i64().unwrap(), version["maximum"].as_i64().unwrap());
    let import = async |code: &str, version: Value| {
        let row = json!({ "target": format!("https://example.com/{code}"), "code": code, "version": version });
        let answer = api.json("POST", "/api/import", &json!({ "rows": [row] })).await;
        answer.value()["outcomes"][0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!([import("a", json!(low)).await, import("b", json!(high)).await], ["created", "created"]);
    assert_eq!([import("c", json!(low - 1)).await, import("d", json!(high + 1)).await], ["refused", "refused"]);
    assert_eq!(import("e", json!(629.0)).await, "created");

    let parameters = document["paths"]["/api/links"]["get"]["parameters"].as_array().unwrap();
    let page = parameters.iter().find(|parameter| parameter["name"] == "page").unwrap();
    let pages = page["schema"]["maximum"].as_u64().unwrap();
    let list = async |page: u64| api.get(&format!("/api/links?per_page=1&page={page}")).await.status;
    assert_eq!((list(pages).await, list(pages + 1).await), (200, 422));
}

#[tokio::test]
async fn every_problem_type_is_documented() {
    let server = Server::start();
    let docs = server.client.get("/docs").await;
    let text = docs.text();
    for slug in [
        "bad-request",
        "cross-origin",
        "alias-taken",
        "link-expired",
        "link-banned",
        "cache-unconfirmed",
        "writes-wait",
        "body-too-large",
        "outcome-unknown",
    ] {
        assert!(text.contains(&format!("id=\"{slug}\"")), "{slug}");
    }
    assert!(!text.contains("<script>") && !text.contains("https://cdn"), "no scripts from elsewhere");
    for path in ["/api/links/{code}", "/api/export", "/readyz"] {
        assert!(text.contains(&format!("<code>{path}</code>")), "{path}");
    }
}
