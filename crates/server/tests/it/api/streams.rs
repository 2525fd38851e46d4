//! Streams over the API: figures, entries, appends, dead letters.

use super::caller::Caller;
use crate::console::server::Console;
use crate::console::streams::{add_letters, billing, replace_key};
use evenkeel::stream::EntryId;
use evenkeel_protocol::stream::name::partition_of;
use serde_json::{Value, json};

const ROOT: &str = "/api/v1/sources/default/streams";

/// A call with a key of all scopes; the status and the JSON.
async fn call(
    console: &Console,
    key: &Caller<'_>,
    method: &str,
    path: &str,
    headers: &str,
    body: &Value,
) -> (u16, Value) {
    let token = key.token.as_ref().unwrap();
    let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n{headers}");
    let body = if method == "GET" { String::new() } else { body.to_string() };
    let response = console.send(method, &format!("{ROOT}{path}"), &headers, &body).await;
    (response.status, serde_json::from_str(&response.text).unwrap_or_default())
}

#[tokio::test]
async fn entries_are_appended_once_with_a_key_and_paged() {
    let console = Console::start(true).await;
    let scopes = ["--scope", "read", "--scope", "bodies", "--scope", "append:orders"];
    let key = Caller::key(&console, "shop", &scopes);
    let new = json!({ "entries": [{ "key": "order/7", "body": { "state": "placed" } }, { "key": "order/7", "body": { "state": "paid" } }] });
    let append = async || call(&console, &key, "POST", "/orders/entries", "idempotency-key: 4711\r\n", &new).await;
    let (status, first) = append().await;
    assert_eq!(status, 200, "{first}");
    let partition = first["entries"][0]["partition"].as_u64().unwrap();
    assert_eq!((&first["entries"][0]["is_new"], &first["entries"][1]["is_new"]), (&json!(true), &json!(true)));
    let (_, again) = append().await;
    assert_eq!((&again["entries"][0]["is_new"], &again["entries"][1]["is_new"]), (&json!(false), &json!(false)));

    let (_, page) =
        call(&console, &key, "GET", &format!("/orders/entries?partition={partition}&limit=1"), "", &Value::Null).await;
    assert_eq!(
        (&page["entries"][0]["key"], &page["entries"][0]["body"]),
        (&json!("order/7"), &json!({ "state": "placed" }))
    );
    let next = page["next"].as_str().unwrap().to_owned();
    let (_, rest) = call(&console, &key, "GET", &format!("/orders/entries?after={next}"), "", &Value::Null).await;
    assert_eq!((rest["entries"].as_array().unwrap().len(), &rest["entries"][0]["body"]["state"]), (1, &json!("paid")));

    let foreign = format!("/orders/entries?partition={}&after={next}", 1 - partition);
    let (status, refused) = call(&console, &key, "GET", &foreign, "", &Value::Null).await;
    assert_eq!((status, &refused["errors"][0]["field"]), (422, &json!("after")), "{refused}");
    let same = format!("/orders/entries?partition={partition}&after={next}");
    assert_eq!(call(&console, &key, "GET", &same, "", &Value::Null).await.1, rest);

    let other = Caller::key(&console, "other", &["--scope", "append:clicks"]);
    let (status, refused) = call(&console, &other, "POST", "/orders/entries", "", &new).await;
    assert_eq!((status, &refused["outcome"]), (403, &json!("none")), "{refused}");
    let (status, unknown) = call(&console, &key, "GET", "/odrers", "", &Value::Null).await;
    assert_eq!((status, unknown["type"].as_str().unwrap().ends_with("unknown-stream")), (404, true), "{unknown}");
}

#[tokio::test]
async fn group_is_operated_over_the_api() {
    let console = Console::start(true).await;
    let orders = add_letters(&console, &[json!({ "n": 1 }), json!({ "n": 2 }), json!({ "n": 3 })], "bad feed").await;
    let scopes = ["--scope", "read", "--scope", "bodies", "--scope", "operate", "--scope", "admin"];
    let key = Caller::key(&console, "ops", &scopes);
    let get = async |path: &str| call(&console, &key, "GET", path, "", &Value::Null).await;
    let post = async |path: &str, body: Value| {
        call(&console, &key, "POST", &format!("/orders/groups/billing/{path}"), "", &body).await
    };

    let (_, shown) = get("/orders").await;
    let group = &shown["groups"][0];
    assert_eq!(
        (&group["name"], &group["dead"], &group["unread"], &group["is_ordered"]),
        (&json!("billing"), &json!("3"), &json!("0"), &json!(true))
    );
    assert_eq!(post("pause", json!({})).await.1["is_paused"], true);
    assert!(billing(&orders).await.unwrap().is_paused());
    assert_eq!(post("resume", json!({})).await.1["is_paused"], false);
    let (status, past) = post("pause", json!({ "until": 1 })).await;
    assert_eq!((status, &past["errors"][0]["field"]), (422, &json!("until")), "{past}");
    assert!(!billing(&orders).await.unwrap().is_paused());

    let (_, dry) = post("seek", json!({ "to": "start", "dry_run": true })).await;
    let again: u64 = dry["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["again"].as_str().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!((again, billing(&orders).await.unwrap().lag_entries()), (3, Some(0)));
    assert_eq!(post("seek", json!({ "to": "start" })).await.0, 422);
    assert_eq!(post("seek", json!({ "to": "start", "confirm": "billing" })).await.0, 200);
    assert_eq!(billing(&orders).await.unwrap().lag_entries(), Some(3));

    let (_, page) = get("/orders/groups/billing/dead?limit=2").await;
    let ids: Vec<&str> =
        page["letters"].as_array().unwrap().iter().map(|letter| letter["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), &page["letters"][0]["errors"][0]["text"]), (2, &json!("bad feed")));
    let (_, replayed) = post("dead/replay", json!({ "ids": [ids[0], ids[0]] })).await;
    assert_eq!(
        (&replayed["letters"][0]["result"], &replayed["letters"][1]["result"]),
        (&json!("replayed"), &json!("unknown"))
    );
    assert_eq!(post("dead/delete", json!({ "ids": [ids[1]], "confirm": "orders" })).await.0, 422);
    assert_eq!(
        post("dead/delete", json!({ "ids": [ids[1]], "confirm": "billing" })).await.1["letters"][0]["result"],
        "deleted"
    );
    assert_eq!(billing(&orders).await.unwrap().dead(), 1);
    let (status, unknown) = get("/orders/groups/nobody/dead").await;
    assert_eq!(status, 404, "{unknown}");
    assert_eq!(post("unregister", json!({ "confirm": "orders" })).await.0, 422);
    assert_eq!(post("unregister", json!({ "confirm": "billing" })).await.1["partitions_left"], json!([0, 1]));
    assert_eq!(post("unregister", json!({ "confirm": "billing" })).await.0, 404);
}

/// A key of each partition of a stream with two.
fn keys() -> [String; 2] {
    let key = |partition| (0..).map(|n| format!("order/{n}")).find(|key| partition_of(key.as_bytes(), 2) == partition);
    [key(0).unwrap(), key(1).unwrap()]
}

/// Redis refuses the second entry: a repeat of the request without a name would append the first one again.
#[tokio::test]
async fn append_that_stops_half_way_names_the_entries_that_are_left() {
    let console = Console::start(true).await;
    let key = Caller::key(&console, "shop", &["--scope", "append:orders"]);
    let [first, second] = keys();
    replace_key(&console, 1, "log", Some("another program's")).await;
    let new = json!({ "entries": [{ "key": first, "body": 1 }, { "key": second, "body": 2 }] });
    let (status, problem) = call(&console, &key, "POST", "/orders/entries", "", &new).await;
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!((status, &problem["outcome"]), (503, &json!("partial")), "{problem}");
    assert!(problem["type"].as_str().unwrap().ends_with("partly-appended"), "{problem}");
    assert!(detail.starts_with("The first 1 of 2 entries were appended."), "{detail}");
    assert!(detail.contains("Send the entries from number 2 on"), "{detail}");
    let (_, named) = call(&console, &key, "POST", "/orders/entries", "idempotency-key: 1\r\n", &new).await;
    assert!(named["type"].as_str().unwrap().ends_with("partly-done"), "{named}");
    let large = json!({ "entries": [{ "key": first, "body": 1 }, { "key": first, "body": "x".repeat(2 << 20) }] });
    let (status, refused) = call(&console, &key, "POST", "/orders/entries", "", &large).await;
    assert_eq!((status, &refused["outcome"]), (422, &json!("none")), "{refused}");
    let entries = console.keel.stream_admin("orders").await.unwrap().peek(0, EntryId::MIN, 10).await.unwrap();
    assert_eq!(entries.len(), 2, "one of each request that was not refused");
}
