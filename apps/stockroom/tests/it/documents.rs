//! Documentation that must match the program.

use super::support::server::Server;
use clap::CommandFactory;
use std::path::Path;
use stockroom::config::Flags;
use web::documents::{dangling_references, documented_settings, settings};

/// docs/config.md has one row per setting.
#[test]
fn every_setting_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(documented_settings(&page, "stockroom"), settings(&Flags::command()));
}

#[tokio::test]
async fn openapi_document_matches_its_snapshot() {
    let server = Server::start();
    let response = server.client.get("/openapi.json").await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    insta::assert_snapshot!("openapi", response.text);
}

#[tokio::test]
async fn documented_operations_and_references_exist() {
    let server = Server::start();
    let document = server.client.get("/openapi.json").await.value();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace("{id}", "none");
            let response = server.client.send(&method.to_uppercase(), &path, "", "").await;
            let is_routed = response.status != 405 && (response.status != 404 || response.text.contains("#unknown_"));
            assert!(is_routed, "{method} {path}: {}", response.status);
            let documented = &operation["responses"][response.status.to_string()];
            assert!(documented.is_object() || path == "/api/audit", "{method} {path}: {}", response.status);
            operations += 1;
        }
    }
    assert_eq!(operations, 15);
    assert_eq!(dangling_references(&document), Vec::<String>::new());
}
