//! The OpenAPI document: what it says is what there is.

use crate::web::server::Server;
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
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
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
