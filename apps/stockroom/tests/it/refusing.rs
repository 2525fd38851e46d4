//! A database that answers, and refuses writes.

use super::support::server::Server;
use serde_json::json;
use testkit::{eventually, park};

/// A file size limit simulates a full disk. Regression: `/readyz` said "up" while every change was refused.
// shows: hazard S35
#[tokio::test]
async fn full_disk_is_named_by_readiness_until_there_is_room() {
    let server = Server::start_with_file_limit(1_024);
    assert_eq!(server.client.get("/readyz").await.status, 200);
    let add = async |number: u32| {
        let name = format!("{}{number}", "long name ".repeat(9));
        server.client.post("/api/products", &json!({ "name": name })).await
    };
    let mut number = 0;
    let refused = loop {
        let added = add(number).await;
        if added.status != 201 {
            break added;
        }
        number += 1;
        assert!(number < 5_000, "the disk has no limit");
    };
    assert!(refused.problem(503, "unavailable").contains("its disk is full"), "{}", refused.text);
    let not_ready = eventually("the service is not ready", || async {
        let answer = server.client.get("/readyz").await;
        (answer.status != 200).then_some(answer)
    });
    let detail = not_ready.await.unwrap().problem(503, "unavailable");
    assert!(detail.contains("refuses writes: its disk is full"), "{detail}");
    assert_eq!(server.client.get("/api/products").await.status, 200, "reads go on");
    server.child.lift_file_limit().unwrap();
    let ready = eventually("the service is ready again", || async {
        (server.client.get("/readyz").await.status == 200).then_some(())
    });
    ready.await.unwrap();
    assert_eq!(add(number).await.status, 201);
}

/// Regression: the client was told to try again (503), for ever.
// shows: hazard T5
#[tokio::test]
async fn value_that_the_encoding_lacks_is_invalid_input() {
    let database = park::postgres_latin1_database().await.unwrap();
    let server = Server::start_with(&["--database", &database.url]).with_products(&["M\u{fc}sli"]).await;
    let refused = server.client.post("/api/products", &json!({ "name": "\u{1f600}" })).await;
    let detail = refused.problem(422, "invalid-input");
    assert!(detail.contains("does not accept"), "{}", refused.text);
    let body = json!({ "commodityName": "\u{1f600}", "quantity": 1, "day": "2026-11-21" });
    let refused = server.client.post("/api/arrivals", &body).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    assert_eq!(server.client.get("/readyz").await.status, 200);
}
