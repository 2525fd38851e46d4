//! The API: its operations and its problems.

use super::support::server::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn deliveries_of_one_day_are_merged() {
    let server = Server::start().with_products(&["apples"]).await;
    let client = &server.client;
    let body = json!({ "commodityName": "apples", "quantity": 120, "day": "2026-11-21" });
    let first = client.post("/api/arrivals", &body).await.is(201);
    let expected = json!({
        "commodityName": "apples", "day": "2026-11-21", "quantity": 120, "deliveries": 1, "stock": 120,
        "strategy": "conditional-update", "conflicts": 0,
    });
    assert_eq!(first, expected);
    let second = client.post("/api/arrivals?strategy=optimistic", &body).await.is(200);
    assert_eq!((&second["quantity"], &second["deliveries"], &second["stock"]), (&json!(240), &json!(2), &json!(240)));
    assert_eq!(second["strategy"], "optimistic");
    let next = json!({ "commodityName": "apples", "quantity": 10, "day": "2026-11-22" });
    assert_eq!(client.post("/api/arrivals", &next).await.is(201)["stock"], 250);

    let listed = client.get("/api/arrivals").await.is(200);
    assert_eq!(days(&listed), [("2026-11-22", 10), ("2026-11-21", 240)], "newest first, one row per day");
    let product = client.get("/api/products/1").await.is(200);
    assert_eq!(product, json!({ "id": 1, "name": "apples", "quantity": 250, "cap": 1000, "segments": 0 }));
}

#[tokio::test]
async fn arrival_without_day_counts_for_today() {
    let server = Server::start_with(&["--time-zone", "Pacific/Kiritimati"]).with_products(&["apples"]).await;
    let body = json!({ "commodityName": "apples", "quantity": 1 });
    let before = jiff::Zoned::now().in_tz("Pacific/Kiritimati").unwrap().date().to_string();
    let day = server.client.post("/api/arrivals", &body).await.is(201)["day"].as_str().unwrap().to_owned();
    let after = jiff::Zoned::now().in_tz("Pacific/Kiritimati").unwrap().date().to_string();
    assert!(day == before || day == after, "{day} is neither {before} nor {after}");
}

#[tokio::test]
async fn no_strategy_exceeds_the_cap() {
    let server = Server::start_with(&["--cap", "100"]).with_products(&["apples"]).await;
    let client = &server.client;
    assert_eq!(server.receive("apples", 90, "2026-11-21").await, 90);
    for strategy in ["optimistic", "pessimistic", "redis-lock", "striped", "redlock", "conditional-update", "segmented"]
    {
        let arrivals = format!("/api/arrivals?strategy={strategy}");
        let body = |quantity: i64| json!({ "commodityName": "apples", "quantity": quantity, "day": "2026-11-22" });
        let detail = client.post(&arrivals, &body(11)).await.problem(409, "cap_exceeded");
        assert_eq!(detail, "90 in stock; the limit is 100. Nothing was changed.", "{strategy}");
        let response = client.post(&arrivals, &body(10)).await;
        assert_eq!(response.value()["stock"], 100, "{strategy}: {}", response.text);

        let orders = format!("/api/orders?strategy={strategy}");
        let order = |quantity: i64| json!({ "commodityName": "apples", "quantity": quantity });
        let detail = client.post(&orders, &order(101)).await.problem(409, "insufficient_stock");
        assert_eq!(detail, "Only 100 in stock. Nothing was changed.", "{strategy}");
        assert_eq!(client.post(&orders, &order(10)).await.is(201)["stock"], 90, "{strategy}");
    }
    let audit = client.get("/api/audit?commodityName=apples").await.is(200);
    assert_eq!((&audit["quantity"], &audit["violations"]), (&json!(90), &json!([])), "{audit}");
}

#[tokio::test]
async fn order_reserves_goods_and_is_released_once() {
    let server = Server::start().with_products(&["apples"]).await;
    let client = &server.client;
    server.receive("apples", 10, "2026-11-21").await;
    let response = client.post("/api/orders", &json!({ "commodityName": "apples", "quantity": 4 })).await;
    let order = response.is(201);
    assert_eq!((&order["state"], &order["stock"]), (&json!("reserved"), &json!(6)));
    let path = format!("/api/orders/{}", order["id"].as_str().unwrap());
    assert_eq!(response.header("location"), Some(path.as_str()));
    assert_eq!(client.get(&path).await.is(200)["quantity"], 4);

    let release = format!("{path}/release");
    let released = client.post(&format!("{release}?strategy=redis-lock"), &json!({})).await.is(200);
    assert_eq!((&released["state"], &released["stock"]), (&json!("released"), &json!(10)));
    let again = client.post(&release, &json!({})).await.is(200);
    assert_eq!((&again["state"], again.get("stock")), (&json!("released"), None), "the order was already released");
    assert_eq!(client.get("/api/products/1").await.is(200)["quantity"], 10);
}

#[tokio::test]
async fn arrivals_are_filtered_and_paged() {
    let server = Server::start().with_products(&["apples", "pears"]).await;
    let client = &server.client;
    for day in 1..=9 {
        server.receive("apples", day, &format!("2026-11-{day:02}")).await;
    }
    server.receive("pears", 50, "2026-11-05").await;
    let list = async |query: &str| client.get(&format!("/api/arrivals?{query}")).await.is(200);
    let some = list("startDate=2026-11-04&endDate=2026-11-06&commodityName=apples").await;
    assert_eq!(days(&some), [("2026-11-06", 6), ("2026-11-05", 5), ("2026-11-04", 4)], "both ends are included");
    assert_eq!(list("startDate=2026-11-05&endDate=2026-11-05").await["total"], 2);
    let second = list("commodityName=apples&page=2&perPage=4").await;
    assert_eq!(days(&second), [("2026-11-05", 5), ("2026-11-04", 4), ("2026-11-03", 3), ("2026-11-02", 2)]);
    assert_eq!((&second["total"], &second["page"], &second["perPage"]), (&json!(9), &json!(2), &json!(4)));
    assert_eq!(days(&list("startDate=2027-01-01").await), []);
}

#[tokio::test]
async fn problem_names_the_invalid_field() {
    let server = Server::start().with_products(&["apples"]).await;
    let client = &server.client;
    let post = async |body: Value| client.post("/api/arrivals", &body).await;
    let unknown = post(json!({ "commodityName": "plums", "quantity": 1 })).await;
    assert_eq!(unknown.problem(404, "unknown_product"), "No product is named \"plums\".");
    for (body, field) in [
        (json!({ "commodityName": "apples", "quantity": 0 }), "quantity"),
        (json!({ "commodityName": "apples", "quantity": -3 }), "quantity"),
        (json!({ "commodityName": "apples", "quantity": 1_000_001 }), "quantity"),
        (json!({ "commodityName": "apples", "quantity": 1.5 }), "quantity"),
        (json!({ "commodityName": "apples", "quantity": "many" }), "quantity"),
        (json!({ "commodityName": "apples" }), "quantity"),
        (json!({ "quantity": 1 }), "commodityName"),
        (json!({ "commodityName": "apples", "quantity": 1, "day": "tomorrow" }), "day"),
        (json!({ "commodityName": "apples", "quantity": 1, "color": "red" }), "color"),
    ] {
        let response = post(body.clone()).await;
        response.problem(422, "invalid-input");
        assert_eq!(response.value()["errors"][0]["field"], field, "{body}: {}", response.text);
    }
    let body = json!({ "commodityName": "apples", "quantity": 1 });
    for strategy in ["luck", "unfenced"] {
        let response = client.post(&format!("/api/arrivals?strategy={strategy}"), &body).await;
        response.problem(422, "invalid-input");
        assert_eq!(response.value()["errors"][0]["field"], "strategy");
    }
    let json = "content-type: application/json\r\n";
    client.send("POST", "/api/arrivals", json, "{").await.problem(400, "bad-request");
    client.send("POST", "/api/arrivals", "", "{}").await.problem(415, "unsupported-media-type");
    for query in ["page=0", "perPage=201", "page=x", "startDate=21.11.2026", "startDate=2026-11-02&endDate=2026-11-01"]
    {
        client.get(&format!("/api/arrivals?{query}")).await.problem(422, "invalid-input");
    }
    client.get("/api/arrivals?commodityName=plums").await.problem(404, "unknown_product");
    client.get("/api/products/7").await.problem(404, "unknown_product");
    client.get("/api/products/x").await.problem(404, "unknown_product");
    for id in ["none", "%00", "%C3%A4", "019a8f0e-7c1b-7d3a-9c55-0f6a2b1c4d5e"] {
        client.get(&format!("/api/orders/{id}")).await.problem(404, "unknown_order");
    }
    client.post("/api/orders/none/release", &json!({})).await.problem(404, "unknown_order");
    client.post("/api/products", &json!({ "name": "apples" })).await.problem(409, "name_taken");
    client.post("/api/products", &json!({ "name": " " })).await.problem(422, "invalid-input");
    client.send("PATCH", "/api/arrivals", "", "").await.problem(405, "method-not-allowed");
    client.get("/nowhere").await.problem(404, "not-found");
    assert_eq!(client.get("/api/products/1").await.is(200)["quantity"], 0, "the stock is unchanged");
}

#[tokio::test]
async fn unfenced_strategy_needs_its_flag() {
    let server = Server::start_with(&["--allow-unfenced"]).with_products(&["apples"]).await;
    let body = json!({ "commodityName": "apples", "quantity": 5 });
    let received = server.client.post("/api/arrivals?strategy=unfenced", &body).await.is(201);
    assert_eq!((&received["stock"], &received["strategy"]), (&json!(5), &json!("unfenced")));
}

#[tokio::test]
async fn service_reports_its_state_and_stops_on_sigterm() {
    let mut server = Server::start().with_products(&["apples"]).await;
    assert_eq!(server.client.get("/healthz").await.text, "ok\n");
    assert_eq!(server.client.get("/readyz").await.is(200), json!({ "database": "up", "redis": "embedded" }));
    server.receive("apples", 5, "2026-11-21").await;
    let metrics = server.client.get("/metrics").await.text;
    let changes = "stockroom_changes_total{strategy=\"conditional-update\",outcome=\"done\"} 1";
    assert!(metrics.contains(changes), "{metrics}");
    assert!(metrics.contains("stockroom_http_requests_total{route=\"api\",status=\"2xx\"}"), "{metrics}");
    assert!(server.child.terminate().await.unwrap().success(), "{}", server.child.log_tail());
}

fn days(listed: &Value) -> Vec<(&str, i64)> {
    let rows = listed["arrivals"].as_array().unwrap();
    rows.iter().map(|row| (row["day"].as_str().unwrap(), row["quantity"].as_i64().unwrap())).collect()
}
