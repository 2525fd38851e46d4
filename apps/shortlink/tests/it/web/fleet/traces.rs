//! The spans of the service, as a collector receives them.

use crate::web::server::Server;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::process::Command;
use testkit::{Collector, ExportedSpan};

/// The id of the trace in which the client sends its edit, and of the client's span.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

const SERVER: u64 = 2;
const CLIENT: u64 = 3;
const PRODUCER: u64 = 4;
const CONSUMER: u64 = 5;

/// The span of this name and kind whose parent is `parent`.
fn child<'a>(spans: &'a [ExportedSpan], parent: &str, name: &str, kind: u64) -> Option<&'a ExportedSpan> {
    spans.iter().find(|span| span.parent == parent && span.name == name && span.kind == kind)
}

/// The spans of an edit that adds an expiry, once all are there: each is a child of the one before it, or of the one named.
fn tree(spans: &[ExportedSpan]) -> Option<Vec<ExportedSpan>> {
    let request = child(spans, CALLER, "PATCH /api/links/{code}", SERVER)?;
    let transaction = child(spans, &request.id, "transaction", CLIENT)?;
    let outbox = child(spans, &transaction.id, "send evenkeel_outbox", PRODUCER)?;
    let invalidation = child(spans, &outbox.id, "invalidate", CLIENT)?;
    let enqueue = child(spans, &outbox.id, "enqueue", PRODUCER)?;
    let job = child(spans, &transaction.id, "process link-ends", CONSUMER)?;
    let of_job = child(spans, &job.id, "transaction", CLIENT)?;
    let outbox_of_job = child(spans, &of_job.id, "send evenkeel_outbox", PRODUCER)?;
    let invalidation_of_job = child(spans, &outbox_of_job.id, "invalidate", CLIENT)?;
    let all = [request, transaction, outbox, invalidation, enqueue, job, of_job, outbox_of_job, invalidation_of_job];
    Some(all.into_iter().cloned().collect())
}

#[tokio::test]
async fn edit_is_one_trace_from_request_to_expiry_job() {
    let collector = Collector::start().await.unwrap();
    let mut server = Server::start_as(&["--otlp", collector.url()], ("OTEL_BSP_SCHEDULE_DELAY", "100"));
    let code = server.client.make(&json!({"target": "https://example.com"})).await;
    let path = format!("/api/links/{code}");
    let end = Timestamp::now().checked_add(SignedDuration::from_millis(1500)).unwrap();
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let headers = [("content-type", "application/json"), ("traceparent", &traceparent), ("x-short-id", "a1B2c3D4")];
    let body = json!({"expires_at": end.to_string()}).to_string();
    let answer = server.client.send("PATCH", &path, &headers, body.as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());

    let tree = collector.wait_for(tree).await.unwrap();
    for span in &tree {
        assert_eq!((&*span.trace, &*span.service, span.status), (TRACE, "shortlink", 0), "{span:#?}");
    }
    let request = &tree[0].attributes;
    assert_eq!(request["http.request.method"], "PATCH");
    assert_eq!(request["http.route"], "/api/links/{code}");
    assert_eq!(request["url.path"], path);
    assert_eq!(request["http.response.status_code"], "200");
    assert_eq!(request["http.request.header.x-short-id"], "a1B2c3D4");
    assert_eq!(request["http.response.header.x-consistency-state"], answer.consistency());
    assert_eq!(tree[1].attributes["db.system.name"], "sqlite");
    assert_eq!(tree[2].attributes["messaging.message.id"], tree[1].attributes["evenkeel.work"]);
    assert_eq!(tree[3].attributes["db.operation.name"], "invalidate");
    assert_eq!(tree[4].attributes["messaging.destination.name"], "link-ends");
    assert_eq!(tree[5].attributes["messaging.operation.type"], "process");

    // The spans of the last request are exported at the shutdown.
    let missing = server.client.get("/api/links/none-such").await;
    assert_eq!(missing.status, 404);
    assert!(server.terminate().await.success(), "{}", server.log());
    let is_of_last =
        |span: &ExportedSpan| span.attributes.get("url.path").is_some_and(|path| path.ends_with("none-such"));
    let last = collector.wait_for(|spans| spans.iter().find(|span| is_of_last(span)).cloned()).await.unwrap();
    assert_eq!((&*last.name, &*last.parent, last.status), ("GET /api/links/{code}", "", 0));
}

#[test]
fn invalid_collector_url_is_refused_in_one_sentence() {
    for (url, why) in [("127.0.0.1:4318", "is not a URL such as"), ("https://otel.example", "without TLS")] {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_shortlink"))
            .args(["--listen", "127.0.0.1:0", "--otlp", url, "--data"])
            .arg(folder.path())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains("\"otlp\"") && error.contains(why), "{error}");
    }
}
