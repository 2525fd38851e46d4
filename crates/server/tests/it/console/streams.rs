//! The pages of streams and what their forms do.

use super::server::Console;
use evenkeel::stream::admin::{GroupState, LetterFilter};
use evenkeel::stream::{Entry, OnFailure, Stream};
use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::eventually;

/// Appends entries of their own keys, which all become dead letters of `billing` for this reason.
pub(crate) async fn add_letters(console: &Console, values: &[Value], reason: &'static str) -> Stream<Value> {
    let orders = console.keel.stream::<Value>("orders").open().await.unwrap();
    for (number, value) in values.iter().enumerate() {
        orders.append(format!("order/{number}"), value).await.unwrap();
    }
    let consumer = orders.group("billing").per_key(OnFailure::BlockKey).retries(0);
    let consumer = consumer.handle(move |_: Entry<Value>| async move { Err::<(), _>(reason) });
    let settled = || async {
        let group = billing(&orders).await?;
        (!group.is_missing() && group.pending() == 0 && group.lag().is_none()).then_some(())
    };
    consumer.run(async { eventually("everything is settled", settled).await.unwrap() }).await.unwrap();
    orders
}

pub(crate) async fn billing(orders: &Stream<Value>) -> Option<GroupState> {
    orders.admin().groups().await.unwrap().into_iter().find(|group| group.name == "billing")
}

#[tokio::test]
async fn letters_of_streams_are_replayed_and_deleted_in_the_browser() {
    let console = Console::start(false).await;
    let orders =
        add_letters(&console, &[json!({ "to": "ada" }), json!({ "to": "bob" })], "the card was declined").await;
    let browser = Browser::start().await.unwrap();
    let url = |path: &str| format!("http://{}{path}", console.address);
    browser.goto(&url("/streams")).await.unwrap();
    browser.wait_for_text("tbody", "orders").await.unwrap();
    browser.click("tbody a").await.unwrap();
    browser.wait_for_text("section[aria-label='Group billing']", "ordered").await.unwrap();
    browser.click("form[action$='/pause'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "billing: Paused until").await.unwrap();
    browser.click("form[action$='/resume'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "billing is resumed").await.unwrap();
    browser.goto(&url("/streams/orders/groups/billing/dead")).await.unwrap();
    browser.wait_for_text("tbody", "the card was declined").await.unwrap();
    browser.click("td.id a").await.unwrap();
    browser.wait_for_text("pre", "\"to\":").await.unwrap();
    browser.click("form[action$='/replay'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Replayed as").await.unwrap();
    browser.click("details:has(form[action$='/dead/delete']) summary").await.unwrap();
    browser.fill("form[action$='/dead/delete'] input[name=confirm]", "billing").await.unwrap();
    browser.click("form[action$='/dead/delete'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "1 deleted").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
    let group = billing(&orders).await.unwrap();
    assert_eq!((group.dead(), group.lag_entries()), (0, Some(1)));
}

#[tokio::test]
async fn viewer_sees_neither_keys_nor_values_nor_reasons_of_letters() {
    let console = Console::start(true).await;
    add_letters(&console, &[json!({ "card": "kardashian" })], "card kardashian refused").await;
    let path = "/streams/orders/groups/billing/dead";
    let viewer = console.get(path, &format!("authorization: Bearer {}\r\n", console.tokens[0])).await;
    assert!(
        viewer.status == 200 && !viewer.text.contains("kardashian") && !viewer.text.contains("order/0"),
        "{}",
        viewer.text
    );
    let operator = console.get(path, &format!("authorization: Bearer {}\r\n", console.tokens[1])).await;
    assert!(
        operator.text.contains("card kardashian refused") && operator.text.contains("order/0"),
        "{}",
        operator.text
    );
    let probed =
        console.get(&format!("{path}?q=nothing"), &format!("authorization: Bearer {}\r\n", console.tokens[0])).await;
    assert!(probed.text.contains("td class=\"id\""), "a viewer cannot search the reasons: {}", probed.text);
}

#[tokio::test]
async fn seek_needs_the_name_of_its_group_and_is_in_the_audit_log() {
    let console = Console::start(false).await;
    let orders = add_letters(&console, &[json!(1), json!(2)], "bad feed").await;
    let (cookie, csrf) = console.visit("/streams/orders", "").await;
    let seek = async |form: &str| {
        let body = format!("csrf={csrf}&{form}");
        console.send("POST", "/streams/orders/groups/billing/seek", &console.form(&cookie), &body).await
    };
    let wrong = seek("to=start&confirm=orders").await;
    assert_eq!((wrong.status, wrong.text.contains("type the group")), (422, true), "{}", wrong.text);
    let senseless = seek("to=entry&at=x&confirm=billing").await;
    assert_eq!(senseless.status, 422, "{}", senseless.text);
    assert_eq!(billing(&orders).await.unwrap().lag_entries(), Some(0));
    let right = seek("to=start&confirm=billing").await;
    assert_eq!(right.status, 303, "{}", right.text);
    assert_eq!(billing(&orders).await.unwrap().lag_entries(), Some(2));
    let log = std::fs::read_to_string(console.folder.path().join("audit")).unwrap();
    assert!(log.contains("\"action\":\"seek\"") && log.contains("2 entries are handled again"), "{log}");
}

#[tokio::test]
async fn letters_that_die_after_the_page_was_loaded_are_not_deleted() {
    let console = Console::start(false).await;
    let orders = add_letters(&console, &[json!(1)], "bad feed").await;
    let (cookie, csrf) = console.visit("/streams/orders/groups/billing/dead", "").await;
    let letters = orders.admin().dead("billing").unwrap().page(&LetterFilter::default(), None, 10).await.unwrap();
    let until = letters.letters[0].1.id.ms;
    let delete = async |until: u64| {
        let body = format!("csrf={csrf}&q=&until={until}&confirm=billing");
        let path = "/streams/orders/groups/billing/dead/delete";
        assert_eq!(console.send("POST", path, &console.form(&cookie), &body).await.status, 303);
        billing(&orders).await.unwrap().dead()
    };
    assert_eq!(delete(until - 1).await, 1);
    assert_eq!(delete(until).await, 0);
}

/// Puts another program's value under a key of a partition of `orders`, or deletes the key.
pub(crate) async fn replace_key(console: &Console, partition: u16, name: &str, value: Option<&str>) {
    let link = console.keel.link().unwrap();
    let key = format!("{{{}:s:orders:{partition}}}:{name}", link.prefix());
    let command = match value {
        Some(value) => redis::cmd("SET").arg(&key).arg(value).take(),
        None => redis::cmd("DEL").arg(&key).take(),
    };
    link.command(key.as_bytes(), &command).await.unwrap();
}

/// The outcomes in the audit log, without those of the lines before an action.
fn outcomes(console: &Console) -> Vec<(String, String)> {
    let log = std::fs::read_to_string(console.folder.path().join("audit")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = lines.filter(|line| line["outcome"] != "begun");
    ended
        .map(|line| {
            let result = &line["result"];
            let text = result.get("problem").or_else(|| result.get("answer")).unwrap();
            (line["outcome"].as_str().unwrap().to_owned(), text.to_string())
        })
        .collect()
}

/// Redis has lost a partition: the group is paused in those before it, and that was answered as "nothing was changed".
#[tokio::test]
async fn group_action_that_stops_half_way_says_what_is_done() {
    let console = Console::start(false).await;
    let orders = add_letters(&console, &[json!(1)], "bad feed").await;
    let (cookie, csrf) = console.visit("/streams/orders", "").await;
    replace_key(&console, 1, "g:billing", None).await;
    let json_type = "content-type: application/json\r\n";
    let api = "/api/v1/sources/default/streams/orders/groups/billing";
    let expected = "1 of 2 partitions were changed, the rest failed";
    for action in ["pause", "resume"] {
        let called = console.send("POST", &format!("{api}/{action}"), json_type, "{}").await;
        let problem: Value = serde_json::from_str(&called.text).unwrap();
        assert_eq!((called.status, &problem["outcome"]), (503, &json!("partial")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{problem}");
        let path = format!("/streams/orders/groups/billing/{action}");
        let page = console.send("POST", &path, &console.form(&cookie), &format!("csrf={csrf}")).await;
        assert!(page.status == 503 && page.text.contains(expected), "{}: {}", page.status, page.text);
    }
    let paused = console.send("POST", &format!("{api}/pause"), json_type, "{}").await;
    assert!(paused.status == 503 && billing(&orders).await.unwrap().is_paused());
    let outcomes = outcomes(&console);
    assert_eq!(outcomes.len(), 5, "{outcomes:?}");
    assert!(outcomes.iter().all(|(outcome, text)| outcome == "partial" && text.contains(expected)), "{outcomes:?}");
    let unknown = console.send("POST", &format!("{}/pause", api.replace("billing", "nobody")), json_type, "{}").await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
}

#[tokio::test]
async fn group_without_consumers_is_unregistered_by_its_name() {
    let console = Console::start(false).await;
    let orders = add_letters(&console, &[json!(1)], "bad feed").await;
    let (cookie, csrf) = console.visit("/streams/orders", "").await;
    let unregister = async |form: &str| {
        let path = "/streams/orders/groups/billing/unregister";
        console.send("POST", path, &console.form(&cookie), &format!("csrf={csrf}&{form}")).await
    };
    assert_eq!(unregister("confirm=orders").await.status, 422);
    assert!(billing(&orders).await.is_some());
    let done = unregister("confirm=billing").await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert!(billing(&orders).await.is_none());
    let again = unregister("confirm=billing").await;
    assert_eq!(again.status, 404, "{}", again.text);
    let outcomes = outcomes(&console);
    assert_eq!(outcomes[0].0, "done");
    assert!(outcomes[0].1.contains("Redis still has it in the partitions 0, 1"), "{outcomes:?}");
}

/// An alert on a gauge of a group that is gone never ended.
#[tokio::test]
async fn gauges_of_a_group_that_is_gone_are_reset() {
    let console = Console::start(false).await;
    let orders = add_letters(&console, &[json!(1), json!(2)], "bad feed").await;
    let (cookie, csrf) = console.visit("/queues/mail", "").await;
    // Each action reads the figures again; an earlier reading may end after it.
    let shown = async |value: &'static str| {
        let line = format!("evenkeel_console_stream_dead{{stream=\"orders\",group=\"billing\"}} {value}\n");
        let is_shown = || async {
            let body = format!("csrf={csrf}");
            console.send("POST", "/queues/mail/pause", &console.form(&cookie), &body).await;
            console.get("/metrics", "").await.text.contains(&line).then_some(())
        };
        eventually("the gauge has the value", is_shown).await.unwrap();
    };
    shown("2").await;
    assert!(orders.admin().unregister("billing").await.unwrap());
    shown("0").await;
}
