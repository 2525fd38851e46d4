//! Dead letters by error: which letters an action takes, and what viewers see of errors.

use super::routes::routes;
use super::server::{Console, Response};
use super::streams::add_letters;
use crate::api::caller::{Caller, answer, problem};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;

/// The value of a hidden field of a page.
fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let start = format!("name=\"{name}\" value=\"");
    page.split(&start).nth(1).unwrap().split('"').next().unwrap()
}

async fn dead(console: &Console) -> u64 {
    console.keel.topic("mail").await.unwrap().stats().await.unwrap().dead()
}

/// "Delete 116" deleted 289 letters after a colleague had redriven other groups: the form read "the newest letters until now" again, which
/// were older ones by then.
// shows: hazard CL1
#[tokio::test]
async fn form_takes_letters_that_its_page_showed_and_no_others() {
    let console = Console::start(false).await;
    console.add_dead_many(2, "bad feed").await;
    console.add_dead_many(3, "smtp refused").await;
    let page = console.get("/queues/mail/dead?limit=4", "").await.text;
    assert!(page.contains("Redrive 3") && page.contains("Redrive 1"), "{page}");
    let form = |group: &str, more: &str| {
        let (from, until) = (field(&page, "from"), field(&page, "until"));
        format!("group={group}&from={from}&until={until}{more}")
    };
    let act = async |path: &str, fields: String| -> Response {
        console.act("/queues/mail/dead", &format!("/queues/mail/dead/{path}"), &fields).await
    };
    let colleague = act("redrive", form("smtp+refused", "&name=0000000000000001")).await;
    assert!(colleague.text.contains("3 redriven"), "{}", colleague.text);
    console.die(3, "smtp refused").await;
    // The letters of the group died again after the page was read, and of the other group only one letter was shown.
    let again = act("redrive", form("smtp+refused", "&name=0000000000000002")).await;
    assert!(again.text.contains("0 redriven"), "{}", again.text);
    let deleted = act("delete", form("bad+feed", "&name=0000000000000003&confirm=mail")).await;
    assert!(deleted.text.contains("1 deleted"), "{}", deleted.text);
    assert_eq!(dead(&console).await, 4);
    let resent = act("delete", form("bad+feed", "&name=0000000000000003&confirm=mail")).await;
    assert!(resent.text.contains("1 deleted"), "the same answer: {}", resent.text);
    assert_eq!(dead(&console).await, 4);
    let all = act("delete", form("bad+feed", "&all=yes&name=0000000000000004&confirm=mail")).await;
    assert!(all.text.contains("1 deleted"), "{}", all.text);
    let letters = console.get("/queues/mail/jobs?state=dead&group=smtp%20refused", "").await.text;
    assert_eq!(letters.matches("td class=\"id\"").count(), 3, "{letters}");
}

/// `POST dead/redrive` with one `Idempotency-Key` took 588, then 25, then 2 letters.
// shows: hazard CL1
#[tokio::test]
async fn resend_with_the_same_key_takes_no_further_letter() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    console.add_dead_many(3, "smtp refused").await;
    let groups = caller.read("/topics/mail/dead").await;
    let choice = json!({ "group": "smtp refused", "until": groups["until"], "from": groups["from"] });
    let send = async |what: &str, key: &str, body: &Value| {
        let path = format!("/topics/mail/dead/{what}");
        caller.post_with(&path, &format!("idempotency-key: {key}\r\n"), body).await
    };
    let first = answer(&send("redrive", "a", &choice).await);
    assert_eq!((&first["redriven"], &first["redriven_in_all"]), (&json!("3"), &json!("3")));
    console.die(3, "smtp refused").await;
    let second = answer(&send("redrive", "a", &choice).await);
    assert_eq!((&second["redriven"], &second["redriven_in_all"]), (&json!("0"), &json!("3")));
    // Another console does not remember the operation; Redis remembers the redrive.
    let other = console.another().await;
    let there =
        answer(&Caller::local(&other).post_with("/topics/mail/dead/redrive", "idempotency-key: a\r\n", &choice).await);
    assert_eq!((&there["redriven"], &there["redriven_in_all"]), (&json!("0"), &json!("3")));
    let later = caller.read("/topics/mail/dead").await;
    let changed = json!({ "group": "smtp refused", "until": later["until"], "from": later["from"] });
    assert_eq!(problem(&send("redrive", "a", &changed).await).0, 422, "the key of other letters");
    let mut deletion = changed;
    deletion["confirm"] = json!("mail");
    for (deleted, note) in [("3", "first"), ("0", "resend")] {
        let done = answer(&send("delete", "b", &deletion).await);
        assert_eq!((&done["deleted"], &done["deleted_in_all"]), (&json!(deleted), &json!("3")), "{note}");
    }
}

// shows: hazard CL7
#[tokio::test]
async fn redrive_with_a_rate_is_watched_and_stopped_over_the_api() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    console.add_dead_many(12, "smtp refused").await;
    let groups = caller.read("/topics/mail/dead").await;
    let choice = json!({ "group": "smtp refused", "until": groups["until"], "rate": 1 });
    let begun = answer(&caller.post_with("/topics/mail/dead/redrive", "idempotency-key: a\r\n", &choice).await);
    assert_eq!(begun["is_running"], true, "{begun}");
    let path = format!("/operations/{}", begun["operation"].as_str().unwrap());
    assert_eq!(caller.act(&format!("{path}/stop"), &json!({})).await["result"], "stopping");
    let ended = testkit::eventually("the operation stops", async || {
        let view = caller.read(&path).await;
        (view["state"] == "stopped").then_some(view)
    });
    let ended = ended.await.unwrap();
    // It was stopped before its first slice, or after it.
    assert!(["0", "10"].contains(&ended["done"].as_str().unwrap()), "{ended}");
    assert!(dead(&console).await >= 2);
}

/// What a viewer must not see, in each text that an operator sees: bodies, values, keys, errors, metadata of locks.
async fn add_secrets(console: &Console, pool: &sqlx::SqlitePool) {
    for parked in
        ["UPDATE evenkeel_outbox SET error = ?1", "UPDATE evenkeel_outbox_keys SET message_key = ?1, error = ?1"]
    {
        sqlx::query(parked).bind(SECRET).execute(pool).await.unwrap();
    }
    console.add_dead(json!({ "card": SECRET, "shown": "public" }), "card of kardashian refused 4111").await;
    let orders = add_letters(console, &[json!({ "card": SECRET })], "card of kardashian refused").await;
    orders.append(SECRET.to_owned(), &json!({ "card": SECRET })).await.unwrap();
    let users = console.keel.cache::<u64, Value>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    users.get(&42, |_| async { Ok::<_, Infallible>(Some(json!(SECRET))) }).await.unwrap();
}

const SECRET: &str = "kardashian";

/// Groups of dead letters are named by the texts of errors, which viewers must not see.
// shows: hazard CL2
#[tokio::test]
async fn viewer_reads_no_route_that_tells_an_error() {
    let (database, pool) = crate::outbox::outbox().await;
    let console = Console::start_with(true, Some(&database.url)).await;
    add_secrets(&console, &pool).await;
    let held = console.keel.lock("stock").metadata(SECRET).acquire().await.unwrap();
    let operator = Caller { console: &console, token: Some(console.tokens[1].clone()) };
    let letters = operator.read("/streams/orders/groups/billing/dead").await;
    let letter = format!("/streams/orders/groups/billing/dead/{}", letters["letters"][0]["id"].as_str().unwrap());
    let dead = console.keel.topic("mail").await.unwrap();
    let id = dead.list(evenkeel::queue::topic::JobState::Dead, None, 1).await.unwrap()[0].id.to_string();
    let authorization = |role: usize| format!("authorization: Bearer {}\r\naccept: */*\r\n", console.tokens[role]);
    let searches = [
        &letter,
        "/streams/orders/groups/billing/dead?q=refused",
        "/caches?cache=user&key=42",
        "/locks?q=stock",
        "/locks?scan=1",
        "/api/v1/sources/default/locks?name=stock",
        "/api/v1/sources/default/streams/orders/entries?partition=0",
        "/api/v1/sources/default/streams/orders/entries?partition=1",
        "/queues/mail/jobs?state=dead",
        "/queues/mail/jobs?state=dead&q=refused",
        "/api/v1/sources/default/topics/mail/jobs?state=dead",
        "/api/v1/sources/default/topics/mail/jobs?state=dead&text=refused",
    ];
    let searches = searches.map(|path| ("GET".to_owned(), path.to_owned(), "page".to_owned(), "read".to_owned()));
    let reads: Vec<_> =
        routes().into_iter().filter(|(method, path, ..)| method == "GET" && path != "/live").chain(searches).collect();
    for (_, path, ..) in &reads {
        let path = path.replace(&"0".repeat(32), &id);
        let shown = console.get(&path, &authorization(0)).await;
        assert!(!shown.text.contains(SECRET), "{path}: {}", shown.text);
    }
    held.release().await.unwrap();
    let page = async |role: usize| console.get("/queues/mail/dead", &authorization(role)).await.text;
    assert!(page(1).await.contains("card of kardashian refused NUMBER"));
    let viewer = page(0).await;
    assert!(viewer.contains("group=failed") || viewer.contains("group=dead"), "the class of the error: {viewer}");
}
