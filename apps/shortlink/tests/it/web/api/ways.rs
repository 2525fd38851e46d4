//! Every way to give a link its target: the API, the bulk import, the page, and the program, with a service and without one.

use crate::web::server::Server;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Command;

/// Targets that the service below refuses.
const WRONG: [&str; 6] = [
    "https://s.example.com/loop",
    "http://10.0.0.1/",
    "http://[::ffff:10.0.0.1]/",
    "http://printer.home/",
    "ftp://example.com/",
    "javascript:alert(1)",
];
const RULES: [&str; 3] = ["--public-url", "https://s.example.com", "--refuse-private"];

/// What an import of one target prints.
fn imported(file: &str, text: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_shortlink"));
    let output = command.current_dir(folder.path()).args(["import", file]).args(more).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Regression: an import took what the API refuses. An operation that is added to the API with a body is added here, or this fails.
// shows: hazard S24
#[tokio::test]
async fn every_way_in_refuses_the_same_targets() {
    let server = Server::start_with(&RULES);
    let (api, url) = (&server.client, format!("http://{}", server.client.address));
    api.make(&json!({ "target": "https://example.com/", "alias": "good" })).await;
    let document = api.get("/openapi.json").await.value();
    let mut with_body = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let writes = methods.as_object().unwrap().iter().filter(|(_, operation)| operation["requestBody"].is_object());
        with_body.extend(writes.map(|(method, _)| format!("{method} {path}")));
    }
    let listed = ["patch /api/links/{code}", "post /api/import", "post /api/links"].map(str::to_owned);
    assert_eq!(with_body, BTreeSet::from(listed));
    let version = api.get("/api/links/good").await.value()["version"].to_string();
    let long = format!("https://example.com/{}", "a".repeat(8_000));
    for target in WRONG.into_iter().chain([long.as_str()]) {
        let body = json!({ "target": target });
        assert_eq!(api.json("POST", "/api/links", &body).await.status, 422, "{target}");
        assert_eq!(api.json("PATCH", "/api/links/good", &body).await.status, 422, "{target}");
        let rows = json!({ "rows": [{ "target": target, "code": "bad" }] });
        let outcomes = api.json("POST", "/api/import", &rows).await.value();
        assert_eq!(outcomes["outcomes"][0]["outcome"], "refused", "{target}: {outcomes}");
        assert_eq!(api.form("/links", &[("target", target)]).await.status, 422, "{target}");
        let fields = [("target", target), ("version", version.as_str()), ("expires_was", "")];
        assert_eq!(api.form("/links/good", &fields).await.status, 422, "{target}");
        let table = |separator: char| format!("target{separator}code\n{target}{separator}bad\n");
        for (file, text) in [("in.csv", table(',')), ("in.tsv", table('\t')), ("in.jsonl", format!("{body}\n"))] {
            for more in [&["--server", url.as_str()][..], &RULES] {
                let printed = imported(file, &text, more);
                assert!(
                    printed.contains("1 link: 0 new, 0 already present, 1 rejected"),
                    "{target} {more:?}: {printed}"
                );
            }
        }
    }
    let links = api.get("/api/links").await.value();
    assert_eq!((&links["total"], &links["links"][0]["target"]), (&json!(1), &json!("https://example.com/")), "{links}");
}
