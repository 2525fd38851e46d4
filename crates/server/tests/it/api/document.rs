//! The OpenAPI document.

use super::caller::Caller;
use crate::console::server::Console;
use crate::program::evenkeel;
use serde_json::{Value, json};
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

/// Regression: `name` of `GET ../locks` was optional and without a description in the document.
// shows: hazard CL15
#[tokio::test]
async fn openapi_document_says_which_parameters_a_request_needs() {
    let console = Console::start(false).await;
    let document: Value = serde_json::from_str(&console.get("/api/v1/openapi.json", "").await.text).unwrap();
    let mut required = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            for parameter in &parameters {
                assert!(parameter["description"].is_string(), "{method} {path}: {parameter}");
                let is_needed = parameter["required"] == true;
                assert!(is_needed || parameter["in"] != "path", "{method} {path}: {parameter}");
            }
            if method != "get" || !parameters.iter().any(|parameter| parameter["in"] == "query") {
                continue;
            }
            let names = [("{source}", "default"), ("{topic}", "mail"), ("{stream}", "orders"), ("{group}", "none")];
            let request = names.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
            // Without any of its query; a parameter that it needs is refused.
            let answer = console.get(&request, "").await;
            let is_needed = |parameter: &&Value| parameter["in"] == "query" && parameter["required"] == true;
            let needed: Vec<&str> =
                parameters.iter().filter(is_needed).map(|parameter| parameter["name"].as_str().unwrap()).collect();
            assert_eq!(answer.status == 422, !needed.is_empty(), "{request}: {needed:?}, {}", answer.text);
            required.extend(needed.into_iter().map(|name| format!("{path}?{name}")));
        }
    }
    assert_eq!(required, BTreeSet::from(["/api/v1/sources/{source}/locks?name".to_owned()]));
}

/// A client that was generated from the document learned each limit from a 422.
// shows: hazard CL14, hazard PO12
#[tokio::test]
async fn openapi_document_has_the_limits_of_its_fields() {
    let console = Console::start(false).await;
    let document: Value = serde_json::from_str(&console.get("/api/v1/openapi.json", "").await.text).unwrap();
    let schemas = &document["components"]["schemas"];
    let caller = Caller::local(&console);
    let owner = "0".repeat(32);
    let acquire = |field: &str, value: Value| {
        let mut body = json!({ "name": "stock/7", "owner": owner, "ttl_ms": 1_000, "wait_ms": 0 });
        body[field] = value;
        body
    };
    let limit = |schema: &str, field: &str, bound: &str| {
        let found = &schemas[schema]["properties"][field][bound];
        found.as_u64().unwrap_or_else(|| unreachable!("{schema}.{field} has no {bound}"))
    };
    let (ttl_min, ttl_max) = (limit("Acquisition", "ttl_ms", "minimum"), limit("Acquisition", "ttl_ms", "maximum"));
    let wait_max = limit("Acquisition", "wait_ms", "maximum");
    for (field, inside, outside) in [
        ("ttl_ms", json!(ttl_min), json!(ttl_min - 1)),
        ("ttl_ms", json!(ttl_max), json!(ttl_max + 1)),
        ("wait_ms", json!(wait_max), json!(wait_max + 1)),
        ("owner", json!("F".repeat(32)), json!("g".repeat(32))),
        ("name", json!("n".repeat(512)), json!("n".repeat(513))),
        ("name", json!("ü".repeat(128)), json!("ü".repeat(257))),
        ("metadata", json!("ü".repeat(256)), json!("ü".repeat(513))),
    ] {
        // A lock of its own for each, so that no call waits for another one's lease.
        let mut body = acquire(field, inside);
        if field != "name" {
            body["name"] = json!(format!("{field}/{}", body[field].to_string().len()));
        }
        assert_eq!(caller.post("/locks/acquire", &body).await.status, 200, "{body}");
        assert_eq!(
            caller.post("/locks/acquire", &acquire(field, outside.clone())).await.status,
            422,
            "{field}: {outside}"
        );
    }
    // JSON Schema counts characters, the service bytes.
    let lengths = |field: &str| -> Vec<u64> {
        let ways = schemas["Acquisition"]["properties"][field]["anyOf"].as_array().unwrap();
        ways.iter().map(|way| way["maxLength"].as_u64().unwrap()).collect()
    };
    assert_eq!((lengths("name"), lengths("metadata")), (vec![512, 128], vec![1_024, 256]));
    for (request, field) in [("New", "body"), ("NewEntry", "body"), ("Edit", "body"), ("Due", "at")] {
        let of = &schemas[request]["allOf"];
        assert!(
            of[0]["properties"][field].is_object() && of[1]["oneOf"][0]["required"] == json!([field]),
            "{request}: {of}"
        );
    }
    let parameters = document["paths"]["/api/v1/sources/{source}/topics/{topic}/jobs"]["get"]["parameters"].as_array();
    let of_limit = parameters.unwrap().iter().find(|parameter| parameter["name"] == "limit").unwrap();
    assert_eq!(
        (&of_limit["schema"]["minimum"], &of_limit["schema"]["maximum"]),
        (&json!(1), &json!(500)),
        "{of_limit}"
    );
    for (schema, field, bound) in [
        ("Call", "want", "maximum"),
        ("Call", "settle", "maxItems"),
        ("NewJobs", "jobs", "maxItems"),
        ("NewEntries", "entries", "maxItems"),
    ] {
        assert_eq!(limit(schema, field, bound), 100, "{schema}.{field}");
    }
}

/// Regression: these limits were not in the document, and `629.0`, which is an integer to JSON Schema, was refused.
// shows: hazard PO12
#[tokio::test]
async fn openapi_document_has_the_limits_of_keys_times_and_spans() {
    let console = Console::start(false).await;
    let document: Value = serde_json::from_str(&console.get("/api/v1/openapi.json", "").await.text).unwrap();
    let schemas = &document["components"]["schemas"];
    for (schema, field) in [
        ("Acquisition", "fence_above"),
        ("Call", "sequence"),
        ("Outdated", "lag_ms"),
        ("Outdated", "retain_ms"),
        ("Pause", "until"),
        ("Settlement", "delay_ms"),
        ("Unique", "window_ms"),
    ] {
        assert!(schemas[schema]["properties"][field]["pattern"].is_string(), "{schema}.{field}");
    }
    let ids = &schemas["DeleteLetters"]["properties"]["ids"];
    assert!(ids["items"]["pattern"].is_string(), "{ids}");
    assert_eq!(schemas["NewTopic"]["properties"]["retries"]["maximum"], 65_535);

    let caller = Caller::local(&console);
    let status = async |path: &str, body: Value| caller.post(path, &body).await.status;
    for (field, inside, outside) in [
        ("key", json!("k".repeat(4_096)), json!("k".repeat(4_097))),
        ("key", json!("ü".repeat(1_024)), json!("")),
        ("retain_ms", json!("9".repeat(12)), json!("9".repeat(13))),
        ("lag_ms", json!("9".repeat(12)), json!("9".repeat(13))),
    ] {
        let body = |value: Value| {
            let mut body = json!({ "key": "42" });
            body[field] = value;
            body
        };
        assert_eq!(status("/caches/user/invalidate", body(inside)).await, 200, "{field}");
        assert_eq!(status("/caches/user/invalidate", body(outside)).await, 422, "{field}");
    }
    for (fence, ttl_ms, expected) in
        [(1_u64 << 52, json!(1_000.0), 200), ((1 << 52) + 1, json!(1_000.0), 422), (1, json!(1_000.5), 422)]
    {
        let call = json!({ "name": "stock/7", "owner": "0".repeat(32), "fence_above": fence, "ttl_ms": ttl_ms });
        assert_eq!(status("/locks/acquire", call).await, expected, "{fence}");
    }
}
