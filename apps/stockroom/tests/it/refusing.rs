//! A database that answers, and refuses writes.

use super::support::server::Server;
use serde_json::json;
use testkit::eventually;

/// A file size limit simulates a full disk. Regression: `/readyz` said "up" while every change was refused.
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
