//! What a visitor sees after a form: its answer once, or the page again with what was typed.

use super::routes::routes;
use super::server::{Console, FIRST};
use super::streams::add_letters;
use evenkeel::queue::topic::JobState;
use evenkeel::stream::admin::LetterFilter;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::browser::Browser;

/// `?done=TEXT` showed any text as the answer of an action, and a reload repeated it.
// shows: hazard CL3, hazard CL9
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
// shows: hazard CL6
#[tokio::test]
async fn rejected_form_keeps_page_text_and_place() {
    let console = Console::start(false).await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let id = mail.delay(Duration::from_secs(3_600), &json!("first")).await.unwrap();
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

/// A parked message of the inbox.
const MESSAGE: &str =
    "INSERT INTO evenkeel_inbox (consumer_group, message_id, state, seen_at, met) VALUES ('accounts', x'37', 2, 1, 3)";

/// Every form of the router into which a visitor types is here with its page and something wrong, or this fails.
// shows: hazard CL6, hazard CL26
#[tokio::test]
async fn every_rejected_form_shows_its_page_with_what_was_typed() {
    let (database, pool) = crate::outbox::outbox().await;
    sqlx::raw_sql(MESSAGE).execute(&pool).await.unwrap();
    let console = Console::start_with(false, Some(&database.url)).await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    console.add_dead(json!({}), "bad address").await;
    let waits = mail.delay(Duration::from_secs(3_600), &json!("first")).await.unwrap();
    let dead = console.keel.topic("mail").await.unwrap().list(JobState::Dead, None, 1).await.unwrap()[0].id;
    let orders = add_letters(&console, &[json!(1)], "no stock").await;
    let letters = orders.admin().dead("billing").unwrap();
    let letter = letters.page(&LetterFilter::default(), None, 1).await.unwrap().letters[0].0;
    let held = console.keel.lock("stock").acquire().await.unwrap();
    let (waits, dead) = (format!("/queues/mail/jobs/{waits}"), format!("/queues/mail/jobs/{dead}"));
    let group = "/streams/orders/groups/billing";
    let letter = format!("{group}/dead/{letter}");
    let of_group = format!("group=bad+address&name=0123456789abcdef&from={FIRST}&until=99999999999999");
    // Path of the form, its page, its fields.
    let typed = [
        ("/queues/mail/pause".to_owned(), "/queues/mail", "until=banana".to_owned()),
        (format!("{waits}/reschedule"), waits.as_str(), "delay=banana".to_owned()),
        (format!("{waits}/edit"), &waits, "seen=0&body=banana".to_owned()),
        (format!("{dead}/delete"), &dead, "confirm=banana".to_owned()),
        ("/queues/mail/dead/redrive".to_owned(), "/queues/mail/dead", format!("{of_group}&rate=banana")),
        ("/queues/mail/dead/delete".to_owned(), "/queues/mail/dead", format!("{of_group}&confirm=banana")),
        (format!("{group}/pause"), "/streams/orders", "until=banana".to_owned()),
        (format!("{group}/seek"), "/streams/orders", "to=time&at=banana&confirm=billing".to_owned()),
        (format!("{group}/unregister"), "/streams/orders", "confirm=banana".to_owned()),
        (format!("{group}/dead/replay"), "/streams/orders/groups/billing/dead", "q=&until=0&confirm=banana".to_owned()),
        (format!("{group}/dead/delete"), "/streams/orders/groups/billing/dead", "q=&until=0&confirm=banana".to_owned()),
        (format!("{letter}/delete"), &letter, "confirm=banana".to_owned()),
        (
            "/caches/invalidate".to_owned(),
            "/caches?cache=user&key=42",
            "cache=user&key=42&mode=purge&lag=banana".to_owned(),
        ),
        ("/locks/break".to_owned(), "/locks?q=stock", format!("name=stock&fence={}&confirm=banana", held.fence())),
        ("/outbox/skip".to_owned(), "/outbox", "topic=links&key=a&confirm=banana".to_owned()),
        ("/inbox/skip".to_owned(), "/outbox", "group=accounts&message=37&confirm=banana".to_owned()),
    ];
    // A button without a field; and a token is not shown again.
    let buttons = ["resume", "run", "revoke", "redrive", "stop", "replay", "resend", "check", "logout", "login"];
    let last = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let template = |path: &str| {
        let is_id = |part: &str| part.len() >= 16 && part.bytes().any(|byte| byte.is_ascii_digit());
        path.split('/').map(|part| if is_id(part) { "ID" } else { part }).collect::<Vec<_>>().join("/")
    };
    let listed: Vec<String> = typed.iter().map(|(path, ..)| template(path)).collect();
    for (_, path, ..) in routes().iter().filter(|(_, _, kind, _)| kind == "form") {
        let is_known = listed.contains(&template(path)) || buttons.contains(&last(path).as_str());
        assert!(is_known, "{path} is not in the list: {listed:?}");
    }
    let (cookie, csrf) = console.visit("/queues/mail", "").await;
    let headers = format!("accept: text/html\r\n{}", console.form(&cookie));
    for (path, page, fields) in &typed {
        let of_page = utf8_percent_encode(page, NON_ALPHANUMERIC);
        let body = format!("csrf={csrf}&page={of_page}&{fields}");
        let shown = console.send("POST", path, &headers, &body).await;
        assert_eq!(shown.status, 422, "{path}: {}", shown.text);
        let heading = |text: &str| text.split("<h1").nth(1).unwrap().split("</h1>").next().unwrap().to_owned();
        assert_eq!(heading(&shown.text), heading(&console.get(page, "").await.text), "{path}: its page");
        let is_kept = shown.text.contains("value=\"banana\"") || shown.text.contains(">banana</textarea>");
        assert!(is_kept && shown.text.contains("role=\"alert\""), "{path}: {}", shown.text);
        assert!(shown.text.contains(" autofocus"), "{path}: the focus is on the field: {}", shown.text);
    }
    held.release().await.unwrap();
}

// shows: hazard CL9
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
