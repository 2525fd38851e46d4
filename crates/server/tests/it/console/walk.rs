//! What an operator does at night, in a real browser: find, read, mend, send back.

use super::server::{Console, FIRST};
use evenkeel::queue::Delivery;
use evenkeel::queue::Limits;
use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::eventually;
use testkit::proxy::{Direction, Flow};
use tokio::sync::mpsc;

#[tokio::test]
async fn dead_job_is_found_edited_redriven_and_done_in_the_browser() {
    let console = Console::start(false).await;
    console.add_dead(json!({ "to": "ada lovelace" }), "bad address").await;
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}/queues/mail/jobs?state=dead", console.address)).await.unwrap();
    browser.fill("#q", "lovelace").await.unwrap();
    browser.click("form[role=search] button").await.unwrap();
    browser.wait_for_text("[role=status]", "1 found").await.unwrap();
    browser.click("td.id a").await.unwrap();
    browser.wait_for_text(".notice", "It is a dead letter after 1 failed attempt: bad address").await.unwrap();
    browser.click("details summary").await.unwrap();
    browser.fill("#body", r#"{"to":"ada@example.org"}"#).await.unwrap();
    browser.click("form[action$='/edit'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "new body is stored").await.unwrap();
    browser.click("form[action$='/redrive'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Redriven").await.unwrap();
    browser.wait_for_text(".notice:not(.good)", "A free consumer claims it now").await.unwrap();

    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let (sender, mut bodies) = mpsc::unbounded_channel();
    let consumer = mail.consume(move |job: Delivery<Value>| {
        let sent = sender.send(job.body);
        async move { sent.map_err(|error| error.to_string()) }
    });
    let first = async { assert_eq!(bodies.recv().await, Some(json!({ "to": "ada@example.org" }))) };
    consumer.run(first).await.unwrap();
    assert_eq!(console.keel.topic("mail").await.unwrap().stats().await.unwrap().dead(), 0);
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn body_that_changed_meanwhile_is_not_overwritten() {
    let console = Console::start(false).await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let id = mail.delay(std::time::Duration::from_secs(3_600), &json!("first")).await.unwrap();
    let path = format!("/queues/mail/jobs/{id}");
    let (cookie, csrf) = console.visit(&path, "").await;
    let page = console.get(&path, "").await.text;
    let seen = page.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let edit = |body: &str| format!("csrf={csrf}&seen={seen}&body={body}");
    let send =
        async |body: &str| console.send("POST", &format!("{path}/edit"), &console.form(&cookie), &edit(body)).await;
    assert_eq!(send("not+json").await.status, 422);
    assert_eq!(send("%22second%22").await.status, 303);
    let late = send("%22third%22").await;
    assert_eq!((late.status, late.text.contains("by another visitor")), (409, true), "{}", late.text);
    let page = console.get(&path, "").await.text;
    assert!(page.contains("second"));
    // A body without room was "not waiting (Full)".
    let limits = Limits { jobs_max: None, bytes_max: Some(4_000) };
    console.keel.topic("mail").await.unwrap().set_limits(limits).await.unwrap();
    let seen = page.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let edit = format!("csrf={csrf}&seen={seen}&body=%22{}%22", "x".repeat(8_000));
    let full = console.send("POST", &format!("{path}/edit"), &console.form(&cookie), &edit).await;
    assert_eq!((full.status, full.text.contains("above its limit of bytes")), (422, true), "{}", full.text);
}

#[tokio::test]
async fn search_finds_ids_keys_and_texts_but_not_what_is_hidden() {
    let console = Console::start(true).await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let hour = std::time::Duration::from_secs(3_600);
    let named = mail.job(&json!({ "card": "4111", "shown": "visible" })).id("welcome/42").delay(hour);
    let named = named.enqueue().await.unwrap().id;
    let unique = mail.job(&json!({})).unique("user/7", hour).delay(hour).enqueue().await.unwrap().id;
    let find = async |role: usize, q: &str| {
        let token = format!("authorization: Bearer {}\r\n", console.tokens[role]);
        console.get(&format!("/queues/mail/jobs?q={q}"), &token).await
    };
    for (q, id) in [(named.to_string(), named), ("welcome%2F42".to_owned(), named), ("user%2F7".to_owned(), unique)] {
        let found = find(0, &q).await;
        assert!(found.status == 303 && found.head.contains(&format!("/jobs/{id}")), "{q}: {}", found.head);
    }
    assert!(find(1, "4111").await.text.contains("1 found"));
    let viewer = find(0, "4111").await.text;
    assert!(viewer.contains("0 found") && !viewer.contains(&named.to_string()), "{viewer}");
    assert!(find(0, "visible").await.text.contains("1 found"));
}

// shows: hazard CL8
#[tokio::test]
async fn search_shows_the_newest_first() {
    let console = Console::start(false).await;
    for body in ["one needle", "hay", "another needle"] {
        console.add_dead(json!(body), "bad address").await;
    }
    let found = console.get("/queues/mail/jobs?state=dead&q=needle", "").await;
    let place = |text: &str| found.text.find(text).unwrap_or_else(|| unreachable!("{text}: {}", found.text));
    assert!(place("another needle") < place("one needle") && found.text.contains("2 found"), "{}", found.text);
    assert!(!found.head.contains("refresh:"), "{}", found.head);
}

/// A letter among 300,000 took 36 clicks. Redis answers late here, so that a part of the search, which takes two seconds of its time and of pauses,
/// ends after its first call.
// shows: hazard CL8
#[tokio::test]
async fn search_goes_on_by_itself_until_it_has_found_something() {
    let (console, proxy) = Console::start_behind_proxy(3).await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let hour = std::time::Duration::from_secs(3_600);
    for number in 0..401_u32 {
        let body = if number == 0 { json!("a needle") } else { json!("hay") };
        mail.job(&body).delay(hour + std::time::Duration::from_secs(number.into())).enqueue().await.unwrap();
    }
    let late = std::time::Duration::from_millis(110);
    proxy.set(Direction::ToClient, Flow::Delay { min: late, max: late });
    let mut path = "/queues/mail/jobs?q=needle".to_owned();
    for read in [200, 400] {
        let part = console.get(&path, "").await;
        assert!(
            part.text.contains(&format!("Searched {read} ")) && part.text.contains("Searching on"),
            "{}",
            part.text
        );
        let stop = "<a class=\"button\" href=\"/queues/mail/jobs?state=waiting\">Stop</a>";
        assert!(part.text.contains(stop), "{}", part.text);
        // What a browser does.
        let next = part.head.lines().find_map(|line| line.strip_prefix("refresh: 0; url=")).unwrap();
        path = next.trim_end().to_owned();
    }
    let last = console.get(&path, "").await;
    assert!(last.text.contains("Searched 401 ") && last.text.contains("1 found"), "{}", last.text);
    assert!(!last.head.contains("refresh:") && last.text.contains("a needle"), "{}", last.text);
}

/// A redrive of twelve letters, one a second, of which the first slice is sent back; returns the path of its page, and `Cookie` and CSRF token.
async fn slow_redrive(console: &Console) -> (String, String, String) {
    console.add_dead_many(12, "smtp refused").await;
    let (cookie, csrf) = console.visit("/queues/mail/dead", "").await;
    let name = "0123456789abcdef";
    let body = format!("csrf={csrf}&group=smtp+refused&from={FIRST}&until=99999999999999&name={name}&rate=1");
    for _click in 0..2 {
        let begun = console.send("POST", "/queues/mail/dead/redrive", &console.form(&cookie), &body).await;
        assert!(begun.status == 303 && begun.head.contains(&format!("/operations/{name}")), "{}", begun.text);
    }
    let path = format!("/operations/{name}");
    let is_sent = async || console.get(&path, "").await.text.contains("10 of 12 sent back").then_some(());
    eventually("a slice of ten seconds is sent back", is_sent).await.unwrap();
    (path, cookie, csrf)
}

async fn stop(console: &Console, (path, cookie, csrf): &(String, String, String)) {
    let stopped = console.send("POST", &format!("{path}/stop"), &console.form(cookie), &format!("csrf={csrf}")).await;
    assert_eq!(stopped.status, 303, "{}", stopped.text);
}

#[tokio::test]
async fn redrive_with_a_rate_is_stopped_after_its_slice() {
    let console = Console::start(false).await;
    let redrive = slow_redrive(&console).await;
    stop(&console, &redrive).await;
    let is_stopped =
        async || console.get(&redrive.0, "").await.text.contains("stopped: the rest is dead").then_some(());
    eventually("the redrive stops", is_stopped).await.unwrap();
    assert_eq!(console.keel.topic("mail").await.unwrap().stats().await.unwrap().dead(), 2);
}

/// The bar stood still until the page was loaded again. The second slice of the redrive follows the first after ten seconds.
// shows: hazard CL24
#[tokio::test]
async fn progress_bar_follows_its_operation() {
    let console = Console::start(false).await;
    let redrive = slow_redrive(&console).await;
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}{}", console.address, redrive.0)).await.unwrap();
    browser.eval("document.body.dataset.loaded = 'once'").await.unwrap();
    browser.wait_for("progress[max='12'][value='12']").await.unwrap();
    browser.wait_for_text(".figure", "12 of 12 sent back").await.unwrap();
    browser.wait_for_text("main", "done").await.unwrap();
    assert_eq!(browser.count("body[data-loaded=once]").await.unwrap(), 1, "the page was not loaded again");
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

/// The button stayed until the page was loaded again, next to "done".
// shows: hazard CL21
#[tokio::test]
async fn stop_button_goes_with_the_end_of_its_operation() {
    let console = Console::start(false).await;
    let redrive = slow_redrive(&console).await;
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}{}", console.address, redrive.0)).await.unwrap();
    browser.wait_for("form[action$='/stop'] button").await.unwrap();
    // Another visitor stops it.
    stop(&console, &redrive).await;
    browser.wait_for_text("main", "stopped: the rest is dead").await.unwrap();
    browser.wait_until_gone("form[action$='/stop']:not([hidden])").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}
