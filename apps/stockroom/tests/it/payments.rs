//! Orders are paid once, or expire: requests that are repeated, gateways that fail, and races.

use super::support::client::{Client, Response};
use super::support::server::Server;
use evenkeel::Keel;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::{eventually, park};

const DAY: &str = "2026-11-21";

/// Enough stock for every order of a test.
const STOCK: i64 = 1_000;

async fn start(arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments).with_products(&["apples", "pears"]).await;
    for product in ["apples", "pears"] {
        server.receive(product, STOCK, DAY).await;
    }
    server
}

async fn reserve(client: &Client, product: &str) -> String {
    let order = client.post("/api/orders", &json!({ "commodityName": product, "quantity": 1 })).await.is(201);
    order["id"].as_str().unwrap().to_owned()
}

async fn pay(client: &Client, order: &str, key: &str, card: &str) -> Response {
    let headers = format!("content-type: application/json\r\nidempotency-key: {key}\r\n");
    client.send("POST", &format!("/api/orders/{order}/pay"), &headers, &json!({ "card": card }).to_string()).await
}

/// Begins a payment and returns its id.
async fn paying(client: &Client, order: &str, key: &str, card: &str) -> String {
    pay(client, order, key, card).await.is(202)["id"].as_str().unwrap().to_owned()
}

async fn order(client: &Client, order: &str) -> Value {
    client.get(&format!("/api/orders/{order}")).await.is(200)
}

async fn becomes(client: &Client, id: &str, state: &str) {
    let what = format!("the order is {state}");
    let arrived = eventually(&what, || async { (order(client, id).await["state"] == state).then_some(()) });
    arrived.await.unwrap();
}

/// The kinds of the events of an order, in order.
async fn life(client: &Client, order: &str) -> Vec<String> {
    let events = client.get(&format!("/api/orders/{order}/events")).await.is(200);
    events["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
}

async fn assert_sound(client: &Client, product: &str, quantity: i64) {
    let audit = client.get(&format!("/api/audit?commodityName={product}")).await.is(200);
    assert_eq!((&audit["quantity"], &audit["violations"]), (&json!(quantity), &json!([])), "{audit}");
}

/// The requests that the gateway got for each payment.
async fn charges(database: &str) -> BTreeMap<String, i64> {
    let sql = "SELECT payment_id, requests FROM gateway_charges";
    let rows: Vec<(String, i64)> = if database.starts_with("mysql") {
        sqlx::query_as(sql).fetch_all(&sqlx::MySqlPool::connect(database).await.unwrap()).await.unwrap()
    } else {
        sqlx::query_as(sql).fetch_all(&sqlx::PgPool::connect(database).await.unwrap()).await.unwrap()
    };
    rows.into_iter().collect()
}

// shows: O1
#[tokio::test]
async fn concurrent_requests_with_one_key_are_one_payment() {
    for database in
        [park::mariadb_database().await.unwrap().url.clone(), park::postgres_database().await.unwrap().url.clone()]
    {
        let server = start(&["--database", &database]).await;
        let client = &server.client;
        let id = reserve(client, "apples").await;
        let requests = (0..8).map(|_| {
            let (client, id) = (client.clone(), id.clone());
            tokio::spawn(async move { pay(&client, &id, "once", "approved").await })
        });
        let mut payments = Vec::new();
        for request in requests.collect::<Vec<_>>() {
            let response = request.await.unwrap();
            assert!(matches!(response.status, 200 | 202), "{}", response.text);
            payments.push(response.value()["id"].as_str().unwrap().to_owned());
        }
        payments.dedup();
        assert_eq!(payments.len(), 1, "{payments:?}");
        becomes(client, &id, "paid").await;
        assert_eq!(life(client, &id).await, ["reserved", "paying", "paid"]);
        assert_eq!(pay(client, &id, "once", "approved").await.is(200)["state"], "paid");
        assert_eq!(charges(&database).await.into_values().collect::<Vec<_>>(), [1]);
        assert_sound(client, "apples", STOCK - 1).await;
    }
}

// shows: O1, O4
#[tokio::test]
async fn key_protects_from_other_payments_of_the_order() {
    let server = start(&[]).await;
    let client = &server.client;
    let id = reserve(client, "apples").await;
    let first = paying(client, &id, "one", "hangs-once").await;
    // The gateway does not answer before its time-out.
    pay(client, &id, "two", "approved").await.problem(409, "payment_in_progress");
    pay(client, &id, "one", "approved").await.problem(409, "key_reused");
    client.post(&format!("/api/orders/{id}/release"), &json!({})).await.problem(409, "payment_in_progress");
    becomes(client, &id, "paid").await;
    assert_eq!(client.get(&format!("/api/payments/{first}")).await.is(200)["state"], "paid");
    assert_eq!(life(client, &id).await, ["reserved", "paying", "gateway", "paid"]);
    pay(client, &id, "two", "approved").await.problem(409, "already_paid");
    client.post(&format!("/api/orders/{id}/release"), &json!({})).await.problem(409, "already_paid");
    assert_sound(client, "apples", STOCK - 1).await;

    let json = "content-type: application/json\r\n";
    let path = format!("/api/orders/{id}/pay");
    client.send("POST", &path, json, r#"{"card":"approved"}"#).await.problem(422, "invalid-input");
    pay(client, &id, "three", "gold").await.problem(422, "invalid-input");
    pay(client, "none", "three", "approved").await.problem(404, "unknown_order");
    client.get("/api/payments/none").await.problem(404, "unknown_payment");
}

// shows: O2
#[tokio::test]
async fn gateway_fails_declines_and_answers_twice() {
    let server = start(&[]).await;
    let client = &server.client;
    let (fails, declined, twice) =
        (reserve(client, "apples").await, reserve(client, "apples").await, reserve(client, "pears").await);
    paying(client, &fails, "k", "fails-once").await;
    paying(client, &twice, "k", "answers-twice").await;
    becomes(client, &twice, "paid").await;
    becomes(client, &fails, "paid").await;
    assert_eq!(life(client, &fails).await, ["reserved", "paying", "gateway", "paid"]);
    assert_eq!(life(client, &twice).await, ["reserved", "paying", "paid"], "the second answer changes nothing");

    let payment = paying(client, &declined, "k", "declined").await;
    becomes(client, &declined, "reserved").await;
    assert_eq!(client.get(&format!("/api/payments/{payment}")).await.is(200)["state"], "declined");
    assert_eq!(
        pay(client, &declined, "k", "declined").await.is(200)["state"],
        "declined",
        "the same key, the same result"
    );
    paying(client, &declined, "another", "approved").await;
    becomes(client, &declined, "paid").await;
    assert_eq!(life(client, &declined).await, ["reserved", "paying", "declined", "paying", "paid"]);
}

/// The payments of a product are handled in the order of their requests, also if the gateway does not answer the first one.
// shows: O3
#[tokio::test]
async fn payments_keep_the_order_of_their_product() {
    let server = start(&[]).await;
    let client = &server.client;
    let (slow, next) = (reserve(client, "apples").await, reserve(client, "apples").await);
    paying(client, &slow, "k", "hangs-once").await;
    paying(client, &next, "k", "approved").await;
    becomes(client, &next, "paid").await;
    assert_eq!(order(client, &slow).await["state"], "paid", "the earlier payment came first");
    assert_eq!(life(client, &slow).await, ["reserved", "paying", "gateway", "paid"]);
}

// shows: O4
#[tokio::test]
async fn unpaid_order_expires_and_its_goods_return() {
    let server = start(&["--pay-within", "1"]).await;
    let client = &server.client;
    let id = reserve(client, "apples").await;
    becomes(client, &id, "expired").await;
    assert_eq!(life(client, &id).await, ["reserved", "expired"]);
    pay(client, &id, "late", "approved").await.problem(409, "order_closed");
    let released = client.post(&format!("/api/orders/{id}/release"), &json!({})).await.is(200);
    assert_eq!((&released["state"], released.get("stock")), (&json!("expired"), None));
    assert_sound(client, "apples", STOCK).await;
}

/// Orders are paid around the time at which they expire: each is paid or expired, and never both.
// shows: O4
#[tokio::test]
async fn payment_and_time_out_exclude_each_other() {
    for strategy in ["conditional-update", "optimistic", "redis-lock", "segmented"] {
        let server = start(&["--pay-within", "1", "--strategy", strategy]).await;
        let client = &server.client;
        let mut payers = Vec::new();
        for number in 0..16 {
            let (client, id) = (client.clone(), reserve(client, "apples").await);
            let end: Timestamp = order(&client, &id).await["payBy"].as_str().unwrap().parse().unwrap();
            payers.push(tokio::spawn(async move {
                // Some are paid before the end, some after it.
                let moment = end - SignedDuration::from_millis(40 - 5 * number);
                while Timestamp::now() < moment {
                    client.get("/healthz").await;
                }
                let status = pay(&client, &id, "k", "approved").await.status;
                (id, status)
            }));
        }
        let mut paid = 0;
        for payer in payers {
            let (id, status) = payer.await.unwrap();
            assert!(matches!(status, 202 | 409), "{status}");
            becomes(client, &id, if status == 202 { "paid" } else { "expired" }).await;
            let life = life(client, &id).await;
            assert!(life.iter().filter(|kind| ["paid", "expired"].contains(&kind.as_str())).count() == 1, "{life:?}");
            paid += i64::from(status == 202);
        }
        assert_sound(client, "apples", STOCK - paid).await;
    }
}

/// The process is killed after the gateway has charged the card, and before the answer is committed. Another one asks again, gets the
/// answer of the same charge, and the order is paid once.
// shows: O2
#[tokio::test]
async fn kill_between_gateway_and_commit_charges_once() {
    let database = park::mariadb_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let arguments = ["--database", &database.url, "--redis", &address];
    let mut first = start(&arguments).await;
    let keel = Keel::connect(&address).await.unwrap();
    let paused = eventually("the group exists", || async {
        keel.stream_admin("order-payments").await.ok()?.pause("payments", None).await.ok()
    });
    paused.await.unwrap();
    let id = reserve(&first.client, "apples").await;
    let payment = paying(&first.client, &id, "k", "approved").await;
    // The relay has appended it.
    let stream = keel.stream_admin("order-payments").await.unwrap();
    let appended = eventually("the payment is appended", || async {
        for partition in 0..stream.partitions() {
            let entries = stream.peek(partition, evenkeel::stream::EntryId::MIN, 10).await.ok()?;
            if !entries.is_empty() {
                return Some(());
            }
        }
        None
    });
    appended.await.unwrap();
    assert!(first.child.terminate().await.unwrap().success(), "{}", first.log());
    stream.resume("payments").await.unwrap();

    // Its first unit of work records the answer.
    let mut killed = Server::start_as(&arguments, ("EVENKEEL_CRASH_AT", "before_commit"));
    assert!(!killed.child.wait().await.unwrap().success());
    assert_eq!(charges(&database.url).await, BTreeMap::from([(payment.clone(), 1)]));
    let last = Server::start_with(&arguments);
    becomes(&last.client, &id, "paid").await;
    assert_eq!(charges(&database.url).await, BTreeMap::from([(payment, 2)]), "the same charge, asked for twice");
    assert_eq!(life(&last.client, &id).await, ["reserved", "paying", "paid"]);
    assert_sound(&last.client, "apples", STOCK - 1).await;
}

/// The queue and the stream are lost with Redis; the rows decide.
// shows: O5
#[tokio::test]
async fn orders_expire_after_redis_has_lost_their_time_outs() {
    let database = park::postgres_database().await.unwrap();
    let redis = testkit::servers::Redis::start(testkit::servers::RedisOptions::new()).await.unwrap();
    let server = start(&["--database", &database.url, "--redis", &redis.url(), "--pay-within", "2"]).await;
    let id = reserve(&server.client, "apples").await;
    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    becomes(&server.client, &id, "expired").await;
    assert_sound(&server.client, "apples", STOCK).await;
}

#[tokio::test]
async fn page_shows_the_life_of_an_order_and_pays_it() {
    let server = start(&[]).await;
    let client = &server.client;
    let id = reserve(client, "apples").await;
    let page = client.get(&format!("/orders/{id}")).await;
    assert!(page.status == 200 && page.text.contains("Goods reserved"), "{}", page.text);
    let form = "content-type: application/x-www-form-urlencoded\r\nsec-fetch-site: same-origin\r\n";
    for _ in 0..2 {
        // A form that is sent twice is one payment.
        let sent = client.send("POST", &format!("/orders/{id}/pay"), form, "card=approved&key=drawn").await;
        assert_eq!((sent.status, sent.header("location")), (303, Some(format!("/orders/{id}").as_str())));
    }
    becomes(client, &id, "paid").await;
    let page = client.get(&format!("/orders/{id}")).await;
    assert!(page.text.contains("Payment requested") && page.text.contains("<strong>Paid</strong>"), "{}", page.text);
    assert_eq!(client.get("/orders/none").await.status, 404);
    let refused = client.send("POST", &format!("/orders/{id}/pay"), form, "card=approved&key=other").await;
    assert!(refused.status == 409 && refused.text.contains("Already paid"), "{}", refused.text);
}
