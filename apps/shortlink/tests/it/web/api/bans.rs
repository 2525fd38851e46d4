//! A link is banned, and its ban is lifted.

use crate::web::client::Client;
use crate::web::server::Server;
use serde_json::json;
use testkit::{eventually, park};

async fn ban(client: &Client, code: &str, banned: bool) {
    let answer = client.json("PATCH", &format!("/api/links/{code}"), &json!({ "banned": banned })).await;
    assert_eq!((answer.status, answer.consistency()), (200, "consistent"), "{}", answer.text());
    assert_eq!(answer.value()["banned"], banned);
}

// shows: S9
#[tokio::test]
async fn banned_link_answers_410_until_ban_is_lifted() {
    let server = Server::start();
    let api = &server.client;
    let code = api.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    // The link is in the near cache when it is banned.
    for _ in 0..3 {
        assert_eq!(api.get("/promo").await.status, 302);
    }
    ban(api, &code, true).await;
    for _ in 0..3 {
        let gone = api.get("/promo").await;
        gone.problem(410, "link-banned");
        assert_eq!(gone.consistency(), "consistent");
    }
    let html = [("accept", "text/html")];
    let page = api.send("GET", "/promo", &html, b"").await;
    assert!(page.status == 410 && page.text().contains("Link banned"), "{}", page.text());
    assert_eq!(api.get("/api/links/promo").await.value()["banned"], true);
    // It stays what it is for those who run the service.
    let moved = json!({ "target": "https://example.com/moved" });
    assert_eq!(api.json("PATCH", "/api/links/promo", &moved).await.value()["banned"], true);
    api.get("/promo").await.problem(410, "link-banned");
    ban(api, &code, false).await;
    assert_eq!(api.get("/promo").await.header("location"), Some("https://example.com/moved"));
}

// shows: S9
#[tokio::test]
async fn ban_reaches_other_instance() {
    let database = park::mariadb_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let start = || Server::start_with(&["--database", &database.url, "--redis", &address]);
    let (one, other) = (start(), start());
    one.client.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    for (banned, status) in [(false, 302), (true, 410), (false, 302)] {
        ban(&one.client, "promo", banned).await;
        let reported = eventually("the other instance knows", || async {
            (other.client.get("/promo").await.status == status).then_some(())
        });
        reported.await.unwrap();
    }
}

// shows: S9
#[tokio::test]
async fn page_bans_and_unbans_link() {
    let server = Server::start();
    let page = &server.client;
    page.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    assert!(page.get("/links/promo").await.text().contains("Ban this link"));
    let banned = page.form("/links/promo/ban", &[("banned", "true")]).await;
    assert_eq!((banned.status, banned.header("location")), (303, Some("/?banned=promo")));
    page.get("/promo").await.problem(410, "link-banned");
    let list = page.get("/?banned=promo").await;
    assert!(list.text().contains("was banned.") && list.text().contains("class=\"badge\">Banned"), "{}", list.text());
    let edit = page.get("/links/promo").await;
    assert!(edit.text().contains("Lift the ban"), "{}", edit.text());
    let lifted = page.form("/links/promo/ban", &[("banned", "false")]).await;
    assert_eq!((lifted.status, lifted.header("location")), (303, Some("/?unbanned=promo")));
    assert_eq!(page.get("/promo").await.status, 302);
    page.send("POST", "/links/none/ban", &[("content-type", "application/x-www-form-urlencoded")], b"banned=true")
        .await
        .problem(404, "unknown-code");
}

/// An export contains the bans, and an import restores them.
// shows: S9
#[tokio::test]
async fn bans_are_exported_and_imported() {
    let (server, other) = (Server::start(), Server::start());
    server.client.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    ban(&server.client, "promo", true).await;
    let row: serde_json::Value = serde_json::from_str(server.client.get("/api/export").await.text()).unwrap();
    assert_eq!(row["banned"], true);
    other.client.json("POST", "/api/import", &json!({ "rows": [row] })).await;
    other.client.get("/promo").await.problem(410, "link-banned");
}
