//! The OpenAPI document.

use crate::console::server::Console;
use crate::program::evenkeel;
use serde_json::Value;
use std::collections::BTreeSet;

#[tokio::test]
async fn openapi_document_has_every_route_of_the_api() {
    let console = Console::start(false).await;
    let response = console.get("/api/v1/openapi.json", "").await;
    assert_eq!(response.status, 200, "{}", response.text);
    let document: Value = serde_json::from_str(&response.text).unwrap();
    let mut documented = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            documented.insert((method.to_uppercase(), path.clone()));
            assert!(operation["summary"].is_string() && operation["responses"]["200"].is_object(), "{method} {path}");
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "two operations are called {name}");
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{method} {path}");
            assert_eq!(operation["requestBody"].is_object(), method == "post", "{method} {path}");
        }
    }
    let ran = evenkeel(&["serve", "--routes", "--redis", "redis://127.0.0.1:1", "--listen", "127.0.0.1:0"]);
    let rows = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_api = rows.filter(|row| row["kind"].as_str().unwrap().starts_with("api-"));
    let routes: BTreeSet<_> = of_api
        .map(|row| (row["method"].as_str().unwrap().to_owned(), row["path"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(documented, routes);
    assert_eq!(web::documents::dangling_references(&document), Vec::<String>::new());
    let outcome = &document["components"]["schemas"]["Problem"]["properties"]["outcome"];
    assert_eq!(outcome["enum"], serde_json::json!(["none", "partial", "unknown"]), "{document}");
}
