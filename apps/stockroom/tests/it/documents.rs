//! Documents that would drift.

use super::server::Server;
use clap::CommandFactory;
use std::path::Path;
use stockroom::config::Flags;
use web::documents::{dangling, settings, settings_on};

/// docs/config.md has a row for every setting, and no other.
#[test]
fn every_setting_has_its_row() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(settings_on(&page, "stockroom"), settings(&Flags::command()));
}

#[tokio::test]
async fn the_openapi_document_is_this_one() {
    let server = Server::start();
    let answer = server.client.get("/openapi.json").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    insta::assert_snapshot!("openapi", answer.text);
}

#[tokio::test]
async fn every_documented_operation_exists_and_every_reference_leads_somewhere() {
    let server = Server::start();
    let document = server.client.get("/openapi.json").await.value();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace("{id}", "none");
            let answer = server.client.send(&method.to_uppercase(), &path, "", "").await;
            let is_routed = answer.status != 405 && (answer.status != 404 || answer.text.contains("#unknown_"));
            assert!(is_routed, "{method} {path}: {}", answer.status);
            let documented = &operation["responses"][answer.status.to_string()];
            assert!(documented.is_object() || path == "/api/audit", "{method} {path}: {}", answer.status);
            operations += 1;
        }
    }
    assert_eq!(operations, 12);
    assert_eq!(dangling(&document), Vec::<String>::new());
}
