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
    browser.wait_for_text(".notice.good", "billing is paused").await.unwrap();
    browser.click("form[action$='/resume'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "billing is resumed").await.unwrap();
    browser.goto(&url("/streams/orders/groups/billing/dead")).await.unwrap();
    browser.wait_for_text("tbody", "the card was declined").await.unwrap();
    browser.click("td.id a").await.unwrap();
    browser.wait_for_text("pre", "\"to\":").await.unwrap();
    browser.click("form[action$='/replay'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Replayed as").await.unwrap();
    browser.click("details summary").await.unwrap();
    browser.fill("input[name=confirm]", "billing").await.unwrap();
    browser.click("form[action$='/dead/delete'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "1 deleted").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
    let group = billing(&orders).await.unwrap();
    assert_eq!((group.dead(), group.lag_entries()), (0, Some(1)));
}

#[tokio::test]
async fn viewer_sees_neither_keys_nor_values_nor_reasons_of_letters() {
    let console = Console::start(true).await;
    add_letters(&console, &[json!({ "card": "4111" })], "card 4111 refused").await;
    let path = "/streams/orders/groups/billing/dead";
    let viewer = console.get(path, &format!("authorization: Bearer {}\r\n", console.tokens[0])).await;
    assert!(
        viewer.status == 200 && !viewer.text.contains("4111") && !viewer.text.contains("order/0"),
        "{}",
        viewer.text
    );
    let operator = console.get(path, &format!("authorization: Bearer {}\r\n", console.tokens[1])).await;
    assert!(operator.text.contains("card 4111 refused") && operator.text.contains("order/0"), "{}", operator.text);
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
