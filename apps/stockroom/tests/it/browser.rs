//! The page in a real browser, as somebody uses it.

use super::server::Server;
use serde_json::json;
use testkit::browser::Browser;

async fn open() -> (Server, Browser) {
    let server = Server::start_with(&["--cap", "100"]);
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}/", server.client.address)).await.unwrap();
    (server, browser)
}

#[tokio::test]
async fn goods_are_taken_in_and_found_again() {
    let (server, browser) = open().await;
    assert_eq!(browser.title().await.unwrap(), "Stock · stockroom");
    browser.wait_for_text(".empty", "No products yet").await.unwrap();
    browser.fill("#name", "apples").await.unwrap();
    browser.click("form[action='/products'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "apples can be taken in now.").await.unwrap();
    assert_eq!(browser.texts(".stock tbody td").await.unwrap(), ["apples", "", "0", "100"]);

    for (quantity, stock) in [("40", "40"), ("2", "42")] {
        browser.fill("#quantity", quantity).await.unwrap();
        browser.click("form[action='/arrivals'] button").await.unwrap();
        browser.wait_for_text(".stock tbody tr td:nth-child(3)", stock).await.unwrap();
    }
    browser.wait_for_text(".notice.good", "The goods are in stock: apples.").await.unwrap();
    assert_eq!(browser.count(".arrivals tbody tr").await.unwrap(), 1, "two deliveries of one day");
    assert_eq!(browser.texts(".arrivals tbody td:nth-child(n+2)").await.unwrap(), ["apples", "42", "2"]);
    // A reload shows the same page again and takes nothing in.
    browser.reload().await.unwrap();
    browser.wait_for_text(".stock tbody tr td:nth-child(3)", "42").await.unwrap();

    server.arrive("apples", 5, "2026-01-31").await;
    server.client.post("/api/products", &json!({ "name": "pears" })).await.is(201);
    server.arrive("pears", 7, "2026-01-31").await;
    let filtered = "?startDate=2026-01-01&endDate=2026-01-31&commodityName=apples";
    browser.goto(&format!("http://{}/{filtered}", server.client.address)).await.unwrap();
    browser.wait_for_text(".arrivals tbody", "2026-01-31").await.unwrap();
    assert_eq!(browser.texts(".arrivals tbody td").await.unwrap(), ["2026-01-31", "apples", "5", "1"]);
    assert_eq!(browser.property("#product", "value").await.unwrap(), "apples", "the filter is still there");
    assert_eq!(browser.property("#startDate", "value").await.unwrap(), "2026-01-01");
    browser.eval("document.querySelector('#product').value = 'pears'").await.unwrap();
    browser.click("form[role=search] button").await.unwrap();
    browser.wait_for_text(".arrivals tbody", "pears").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn mistakes_are_shown_beside_their_fields_and_can_be_mended() {
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
    browser.wait_for_text("#quantity-error", "100 is the most there may be").await.unwrap();
    browser.fill("#quantity", "100").await.unwrap();
    browser.eval("document.querySelector('#strategy').value = 'segmented'").await.unwrap();
    browser.click("form[action='/arrivals'] button").await.unwrap();
    browser.wait_for_text(".stock tbody tr td:nth-child(3)", "100").await.unwrap();
    let audit = server.client.get("/api/audit?commodityName=apples").await.is(200);
    assert_eq!(audit["violations"], json!([]), "{audit}");

    browser.fill("#name", "apples").await.unwrap();
    browser.click("form[action='/products'] button").await.unwrap();
    browser.wait_for_text("#name-error", "There is a product called \"apples\" already.").await.unwrap();
}

#[tokio::test]
async fn the_documentation_explains_every_problem() {
    let (server, browser) = open().await;
    browser.goto(&format!("http://{}/docs#cap_exceeded", server.client.address)).await.unwrap();
    browser.wait_for_text("#cap_exceeded", "There would be more of the product").await.unwrap();
    browser.wait_for_text("#conflict", "Others changed the same product").await.unwrap();
    browser.goto(&format!("http://{}/nowhere", server.client.address)).await.unwrap();
    browser.wait_for_text("h1", "Nothing here").await.unwrap();
}
