//! The page in a real browser.

use super::support::server::Server;
use serde_json::json;
use testkit::browser::{Browser, Shot, fits};

async fn open() -> (Server, Browser) {
    let server = Server::start_with(&["--cap", "100"]);
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}/", server.client.address)).await.unwrap();
    (server, browser)
}

#[tokio::test]
async fn received_goods_are_listed_and_filtered() {
    let (server, browser) = open().await;
    assert_eq!(browser.title().await.unwrap(), "Stock · stockroom");
    browser.wait_for_text(".empty", "No products yet").await.unwrap();
    browser.fill("#name", "apples").await.unwrap();
    browser.click("form[action='/products'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Added apples.").await.unwrap();
    assert_eq!(browser.texts(".stock tbody td").await.unwrap(), ["apples", "", "0", "100"]);

    for (quantity, stock) in [("40", "40"), ("2", "42")] {
        browser.fill("#quantity", quantity).await.unwrap();
        browser.click("form[action='/arrivals'] button").await.unwrap();
        browser.wait_for_text(".stock tbody tr td:nth-child(3)", stock).await.unwrap();
    }
    browser.wait_for_text(".notice.good", "Received apples.").await.unwrap();
    assert_eq!(browser.count(".arrivals tbody tr").await.unwrap(), 1, "two deliveries on one day are one arrival");
    assert_eq!(browser.texts(".arrivals tbody td:nth-child(n+2)").await.unwrap(), ["apples", "42", "2"]);
    // A reload does not repeat the form.
    browser.reload().await.unwrap();
    browser.wait_for_text(".stock tbody tr td:nth-child(3)", "42").await.unwrap();

    server.receive("apples", 5, "2026-01-31").await;
    server.client.post("/api/products", &json!({ "name": "pears" })).await.is(201);
    server.receive("pears", 7, "2026-01-31").await;
    let filtered = "?startDate=2026-01-01&endDate=2026-01-31&commodityName=apples";
    browser.goto(&format!("http://{}/{filtered}", server.client.address)).await.unwrap();
    browser.wait_for_text(".arrivals tbody", "2026-01-31").await.unwrap();
    assert_eq!(browser.texts(".arrivals tbody td").await.unwrap(), ["2026-01-31", "apples", "5", "1"]);
    assert_eq!(browser.property("#product", "value").await.unwrap(), "apples", "the filter is kept");
    assert_eq!(browser.property("#startDate", "value").await.unwrap(), "2026-01-01");
    browser.eval("document.querySelector('#product').value = 'pears'").await.unwrap();
    browser.click("form[role=search] button").await.unwrap();
    browser.wait_for_text(".arrivals tbody", "pears").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn form_errors_are_shown_at_their_fields() {
    let (server, browser) = open().await;
    server.client.post("/api/products", &json!({ "name": "apples" })).await.is(201);
    browser.reload().await.unwrap();
    browser.wait_for_text("#commodityName", "apples").await.unwrap();
    browser.fill("#quantity", "many").await.unwrap();
    browser.click("form[action='/arrivals'] button").await.unwrap();
    browser.wait_for_text("#quantity-error", "must be a whole number").await.unwrap();
    assert_eq!(browser.property("#quantity", "value").await.unwrap(), "many");
    assert_eq!(browser.eval("return document.activeElement.id").await.unwrap(), "quantity");

    browser.fill("#quantity", "101").await.unwrap();
    browser.click("form[action='/arrivals'] button").await.unwrap();
    browser.wait_for_text("#quantity-error", "the limit is 100").await.unwrap();
    browser.fill("#quantity", "100").await.unwrap();
    browser.eval("document.querySelector('#strategy').value = 'segmented'").await.unwrap();
    browser.click("form[action='/arrivals'] button").await.unwrap();
    browser.wait_for_text(".stock tbody tr td:nth-child(3)", "100").await.unwrap();
    let audit = server.client.get("/api/audit?commodityName=apples").await.is(200);
    assert_eq!(audit["violations"], json!([]), "{audit}");

    browser.fill("#name", "apples").await.unwrap();
    browser.click("form[action='/products'] button").await.unwrap();
    browser.wait_for_text("#name-error", "A product named \"apples\" already exists.").await.unwrap();
}

// shows: hazard S13
#[tokio::test]
async fn first_screen_offers_samples_and_orders_follow() {
    let (_server, browser) = open().await;
    browser.wait_for_text(".empty", "No products yet").await.unwrap();
    assert_eq!(
        browser.count("form[action='/arrivals'], form[action='/orders']").await.unwrap(),
        0,
        "there is no product yet"
    );
    browser.click("form[action='/samples'] button").await.unwrap();
    browser.wait_for_text(".stock tbody", "coffee").await.unwrap();
    assert_eq!(
        browser.texts(".stock tbody td:nth-child(3)").await.unwrap(),
        ["100", "40", "100"],
        "limited by the cap"
    );

    browser.eval("document.querySelector('#orderCommodity').value = 'coffee'").await.unwrap();
    browser.fill("#orderQuantity", "41").await.unwrap();
    browser.click("form[action='/orders'] button").await.unwrap();
    browser.wait_for_text("#orderQuantity-error", "Only 40 in stock").await.unwrap();
    assert_eq!(browser.count("#quantity-error").await.unwrap(), 0, "the other form shows no error");
    browser.fill("#orderQuantity", "15").await.unwrap();
    browser.click("form[action='/orders'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Reserved 15 coffee.").await.unwrap();
    assert_eq!(browser.texts(".stock tbody td:nth-child(3)").await.unwrap(), ["100", "25", "100"]);
    assert_eq!(
        browser.texts(".orders tbody td:nth-child(n+2)").await.unwrap(),
        ["coffee", "15", "Reserved", "Release"]
    );

    browser.click(".orders button").await.unwrap();
    browser.wait_for_text(".notice.good", "Released 15 coffee: back in stock.").await.unwrap();
    assert_eq!(browser.texts(".stock tbody td:nth-child(3)").await.unwrap(), ["100", "40", "100"]);
    assert_eq!(browser.texts(".orders tbody td:nth-child(4)").await.unwrap(), ["Released"]);
    assert_eq!(browser.console().await.unwrap().iter().filter(|line| !line.contains("409")).count(), 0);
}

// shows: hazard S13
#[tokio::test]
async fn pages_fit_every_width() {
    let server = Server::start_with(&["--cap", "1000000"]);
    let browser = Browser::start().await.unwrap();
    let home = format!("http://{}/", server.client.address);
    let empty = [Shot::new("empty", &home)];
    fits(&browser, &empty).await.unwrap();
    let mut orders = Vec::new();
    for name in
        ["apples", &"w".repeat(100), "a long name of several words that wraps to more than one line on a narrow screen"]
    {
        server.client.post("/api/products", &json!({ "name": name })).await.is(201);
        server.receive(name, 900_000, "2026-11-21").await;
        let order = json!({ "commodityName": name, "quantity": 100_000 });
        let made = server.client.post("/api/orders", &order).await.is(201);
        orders.push(Shot::new(
            &format!("order-{}", orders.len()),
            &format!("{home}orders/{}", made["id"].as_str().unwrap()),
        ));
    }
    fits(&browser, &orders).await.unwrap();
    let pages = [
        Shot::new("home", &home),
        Shot::new("filtered", &format!("{home}?startDate=2026-11-01&endDate=2026-11-30&commodityName=apples")),
        Shot::new("api", &format!("{home}docs")),
        Shot::new("nowhere", &format!("{home}nowhere")),
    ];
    fits(&browser, &pages).await.unwrap();
}

/// A select cuts its text without moving anything else, so [`fits`] does not notice.
// shows: hazard S13
#[tokio::test]
async fn default_strategy_is_readable_at_every_width() {
    let (server, browser) = open().await;
    server.client.post("/api/products", &json!({ "name": "apples" })).await.is(201);
    for width in [320, 768, 1280] {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 });
        browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await.unwrap();
        browser.reload().await.unwrap();
        assert_eq!(browser.property("#strategy", "value").await.unwrap(), "conditional-update");
        // The arrow takes the last 20 pixels.
        let room = browser.eval(
            "const select = document.getElementById('strategy'), style = getComputedStyle(select);
             const pen = document.createElement('canvas').getContext('2d');
             pen.font = `${style.fontSize} ${style.fontFamily}`;
             const inner = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 20;
             return Math.floor(inner - pen.measureText(select.selectedOptions[0].text).width)",
        );
        let room = room.await.unwrap().as_i64().unwrap();
        assert!(room >= 0, "{room} pixels at {width}");
    }
}

#[tokio::test]
async fn documentation_explains_every_problem() {
    let (server, browser) = open().await;
    browser.goto(&format!("http://{}/docs#cap_exceeded", server.client.address)).await.unwrap();
    browser.wait_for_text("#cap_exceeded", "would exceed its limit").await.unwrap();
    browser.wait_for_text("#conflict", "Every attempt conflicted").await.unwrap();
    browser.goto(&format!("http://{}/nowhere", server.client.address)).await.unwrap();
    browser.wait_for_text("h1", "Not found").await.unwrap();
}
