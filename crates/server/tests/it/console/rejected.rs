//! What a visitor sees after a form: its answer once, or the page again with what was typed.

use super::routes::routes;
use super::server::Console;
use serde_json::json;
use testkit::browser::Browser;

/// `?done=TEXT` showed any text as the answer of an action, and a reload repeated it.
#[tokio::test]
async fn answer_is_shown_once_and_not_from_the_address() {
    let console = Console::start(false).await;
    let forged = "The%20redrive%20was%20done";
    for (_, path, kind, _) in routes().iter().filter(|(_, _, kind, _)| kind == "page") {
        let page = console.get(&format!("{path}?done={forged}"), "").await;
        assert!(!page.text.contains("The redrive was done"), "{kind} {path}: {}", page.text);
    }
    let paused = console.act("/queues/mail", "/queues/mail/pause", "until=10m").await;
    assert!(paused.text.contains("role=\"status\"") && paused.text.contains("Paused until"), "{}", paused.text);
    assert!(paused.head.contains("-notice=;") && paused.head.contains("max-age=0"), "{}", paused.head);
    let stats = console.keel.topic("mail").await.unwrap().stats().await.unwrap();
    assert!(stats.total.paused_until.is_some_and(|until| until != u64::MAX));
}

/// A form with an error (JSON that is none, a span that is none, a wrong name) ended on a bare page, and the text was gone.
#[tokio::test]
async fn rejected_form_keeps_page_text_and_place() {
    let console = Console::start(false).await;
    let mail = console.keel.queue::<serde_json::Value>("mail").retries(0).open().await.unwrap();
    let id = mail.delay(std::time::Duration::from_secs(3_600), &json!("first")).await.unwrap();
    console.add_dead(json!({}), "bad address").await;
    let browser = Browser::start().await.unwrap();
    let goto = async |path: &str| browser.goto(&format!("http://{}{path}", console.address)).await.unwrap();
    let focused = async |name: &str| {
        let focus = browser.eval("return document.activeElement.name").await.unwrap();
        assert_eq!(focus, json!(name));
    };
    goto(&format!("/queues/mail/jobs/{id}")).await;
    browser.click("details summary").await.unwrap();
    // Twice: the page of a rejected form is a page whose form can be rejected.
    for _ in 0..2 {
        browser.fill("#body", "{ \"to\": ada }").await.unwrap();
        browser.click("form[action$='/edit'] button").await.unwrap();
        browser.wait_for_text("[role=alert]", "The body is not JSON").await.unwrap();
        browser.wait_for_text("h1", &id.to_string()).await.unwrap();
        let text = browser.eval("return document.getElementById('body').value").await.unwrap();
        assert_eq!(text, json!("{ \"to\": ada }"));
        focused("body").await;
    }
    browser.fill("input[name=delay]", "banana").await.unwrap();
    browser.click("form[action$='/reschedule'] button").await.unwrap();
    browser.wait_for_text("[role=alert]", "use a number and a unit").await.unwrap();
    assert_eq!(
        browser.eval("return document.querySelector('input[name=delay]').value").await.unwrap(),
        json!("banana")
    );
    focused("delay").await;
    browser.fill("input[name=delay]", "2h").await.unwrap();
    browser.click("form[action$='/reschedule'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "The due time was changed").await.unwrap();

    goto("/queues/mail/dead").await;
    browser.click("details summary").await.unwrap();
    browser.fill("input[name=confirm]", "male").await.unwrap();
    browser.click("form[action$='/dead/delete'] button").await.unwrap();
    browser.wait_for_text("[role=alert]", "type the topic's name: mail").await.unwrap();
    focused("confirm").await;
    browser.fill("input[name=confirm]", "mail").await.unwrap();
    browser.click("form[action$='/dead/delete'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "1 deleted").await.unwrap();
    let log = browser.console().await.unwrap();
    assert!(log.iter().all(|line| line.contains("the server responded with a status of 422")), "{log:?}");
}

#[tokio::test]
async fn lock_is_broken_by_its_typed_name_on_page_and_api() {
    let console = Console::start(false).await;
    let caller = crate::api::caller::Caller::local(&console);
    let hold = async || console.keel.lock("stock/42").metadata("counter 7").acquire().await.unwrap();
    let (first, browser) = (hold().await, Browser::start().await.unwrap());
    browser.goto(&format!("http://{}/locks?q=stock%2F42", console.address)).await.unwrap();
    browser.click("details summary").await.unwrap();
    browser.fill("input[name=confirm]", "stock").await.unwrap();
    browser.click("form[action='/locks/break'] button").await.unwrap();
    browser.wait_for_text("[role=alert]", "type its name: stock/42").await.unwrap();
    browser.fill("input[name=confirm]", "stock/42").await.unwrap();
    browser.click("form[action='/locks/break'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "stock/42 was broken").await.unwrap();

    let second = hold().await;
    let shown = caller.read("/locks?name=stock%2F42").await;
    assert_eq!(
        (&shown["fence"], &shown["holder"]),
        (&json!(second.fence().to_string()), &json!("counter 7")),
        "{shown}"
    );
    let call = |fence: u64| json!({ "name": "stock/42", "fence": fence.to_string(), "confirm": "stock/42" });
    let other = caller.post("/locks/break", &call(first.fence().0)).await;
    assert_eq!(other.status, 409, "the lock of a later holder: {}", other.text);
    assert_eq!(caller.act("/locks/break", &call(second.fence().0)).await["result"], "broken");
    assert_eq!(caller.read("/locks?name=stock%2F42").await["is_held"], false);
    drop((first, second));
}
