//! Clicks are counted by day, bots apart.

use crate::web::client::Client;
use crate::web::server::Server;
use serde_json::{Value, json};
use testkit::eventually;

const BROWSER: [(&str, &str); 1] =
    [("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")];
const BOT: [(&str, &str); 1] =
    [("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")];

async fn clicks(client: &Client, code: &str) -> Value {
    client.get(&format!("/api/links/{code}/clicks")).await.value()
}

/// Waits until the counters of a link are these.
async fn counted(client: &Client, code: &str, people: u64, bots: u64) {
    let expected = json!({ "clicks": people, "bot_clicks": bots });
    let counted = eventually("the clicks are counted", || async {
        (clicks(client, code).await["total"] == expected).then_some(())
    });
    counted.await.unwrap();
}

async fn follow(client: &Client, code: &str, agent: &[(&str, &str)], times: usize) {
    for _ in 0..times {
        assert_eq!(client.send("GET", &format!("/{code}"), agent, b"").await.status, 302);
    }
}

// shows: S13, hazard S40
#[tokio::test]
async fn redirects_are_counted_by_day_with_bots_apart() {
    let server = Server::start();
    let api = &server.client;
    api.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    api.make(&json!({ "target": "https://example.com/", "alias": "other" })).await;
    assert_eq!(clicks(api, "promo").await["total"], json!({ "clicks": 0, "bot_clicks": 0 }));
    // From the database, and then from the near cache.
    follow(api, "promo", &BROWSER, 5).await;
    follow(api, "promo", &BOT, 2).await;
    follow(api, "promo", &[], 1).await;
    // A browser that fetches in advance, before a person follows the link.
    for purpose in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch")] {
        follow(api, "promo", &[BROWSER[0], purpose], 1).await;
    }
    follow(api, "other", &BROWSER, 1).await;
    counted(api, "promo", 5, 5).await;
    counted(api, "other", 1, 0).await;

    let answer = clicks(api, "promo").await;
    let days = answer["days"].as_array().unwrap();
    assert_eq!((answer["code"].as_str(), days.len()), (Some("promo"), 30));
    let sum = |field: &str| days.iter().map(|day| day[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("clicks"), sum("bot_clicks")), (5, 5));
    let week = api.get("/api/links/promo/clicks?days=7").await.value();
    assert_eq!(week["days"].as_array().unwrap()[..], days[23..]);
}

// shows: S13
#[tokio::test]
async fn only_get_requests_that_redirect_are_counted() {
    let server = Server::start();
    let api = &server.client;
    for alias in ["promo", "banned"] {
        api.make(&json!({ "target": "https://example.com/", "alias": alias })).await;
    }
    api.json("PATCH", "/api/links/banned", &json!({ "banned": true })).await;
    for _ in 0..3 {
        assert_eq!(api.head("/promo").await.status, 302);
        assert_eq!(api.send("GET", "/banned", &BROWSER, b"").await.status, 410);
        assert_eq!(api.send("GET", "/none", &BROWSER, b"").await.status, 404);
        api.get("/links/promo").await;
    }
    // The clicks of the three others would be appended before this one.
    follow(api, "promo", &BROWSER, 1).await;
    counted(api, "promo", 1, 0).await;
    assert_eq!(clicks(api, "banned").await["total"], json!({ "clicks": 0, "bot_clicks": 0 }));
    api.get("/api/links/none/clicks").await.problem(404, "unknown-code");
}

#[tokio::test]
async fn invalid_number_of_days_is_refused() {
    let server = Server::start();
    server.client.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    for days in ["0", "367", "-1", "x"] {
        let problem = server.client.get(&format!("/api/links/promo/clicks?days={days}")).await;
        let problem = problem.problem(422, "invalid-input");
        assert!(
            problem["errors"][0]["field"] == "days" || problem["detail"].as_str().unwrap().contains("days"),
            "{problem}"
        );
    }
    assert_eq!(
        server.client.get("/api/links/promo/clicks?days=366").await.value()["days"].as_array().unwrap().len(),
        366
    );
}

/// Without Redis the stream is in the process, so a stop folds what it has appended.
// shows: S13
#[tokio::test]
async fn stop_loses_no_clicks_without_redis() {
    let server = Server::start();
    server.client.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    follow(&server.client, "promo", &BROWSER, 20).await;
    let server = server.restart().await;
    assert_eq!(clicks(&server.client, "promo").await["total"]["clicks"], 20);
}

#[tokio::test]
async fn clicks_off_counts_nothing_and_shows_no_chart() {
    let server = Server::start_with(&["--clicks", "off"]);
    let api = &server.client;
    api.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    follow(api, "promo", &BROWSER, 3).await;
    assert!(!api.get("/metrics").await.text().contains("shortlink_clicks_appended_total"));
    assert!(!api.get("/links/promo").await.text().contains("chart-title"));
    let server = server.restart().await;
    assert_eq!(clicks(&server.client, "promo").await["total"]["clicks"], 0);
}

#[tokio::test]
async fn page_of_link_has_chart_and_table() {
    let server = Server::start();
    let api = &server.client;
    api.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    follow(api, "promo", &BROWSER, 2).await;
    follow(api, "promo", &BOT, 1).await;
    counted(api, "promo", 2, 1).await;
    let page = api.get("/links/promo").await;
    let text = page.text();
    assert!(text.contains("2 clicks in 30 days, and 1 by bots."), "{text}");
    assert!(text.contains("<svg class=\"chart\"") && text.contains("<caption>"), "{text}");
    assert_eq!(api.get("/assets/links.css").await.header("content-type"), Some("text/css; charset=utf-8"));
}
