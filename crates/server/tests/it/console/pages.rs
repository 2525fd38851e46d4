//! The pages in a real browser, and what they show of hostile text.

use super::server::{Console, FIRST};
use evenkeel::queue::{Delivery, Handled};
use serde_json::{Value, json};
use testkit::browser::Browser;

/// A W3C `traceparent`.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&";

#[tokio::test]
async fn markup_in_ids_bodies_and_errors_is_escaped() {
    let console = Console::start(false).await;
    console.add_dead(json!({ "text": HOSTILE }), "<script>alert(1)</script>").await;
    // The library refuses such topics, so hostile text is in bodies, ids and errors.
    let queue = console.keel.queue::<Value>("other").open().await.unwrap();
    let sent = queue.job(&json!(HOSTILE)).id(HOSTILE).enqueue().await.unwrap();
    let found = console.get("/queues/mail/dead", "").await;
    let named = console.get(&format!("/queues/other/jobs/{}", sent.id), "").await;
    for page in [
        &found,
        &named,
        &console.get("/queues/other/jobs?q=%3Cscript%3E", "accept: text/html\r\n").await,
        &console.get("/queues/mail/jobs?state=dead", "").await,
    ] {
        assert!([200, 404].contains(&page.status), "{}", page.text);
        assert!(!page.text.contains("<img src=x") && !page.text.contains("<script>alert"), "{}", page.text);
    }
    assert!(found.text.contains("&lt;script&gt;") && named.text.contains("&lt;img src=x"));
    let missing = console.get("/queues/%3Cscript%3E", "accept: text/html\r\n").await;
    assert!(missing.status == 404 && !missing.text.contains("<script>"), "{}", missing.text);
}

#[tokio::test]
async fn viewer_sees_allowed_fields_only() {
    let console = Console::start(true).await;
    console.add_dead(json!({ "shown": "visible", "card": "4111" }), "card 4111 refused").await;
    let pages = ["/queues/mail/jobs?state=dead", "/queues/mail/dead"];
    for path in pages {
        let viewer = console.get(path, &format!("authorization: Bearer {}\r\n", console.tokens[0])).await;
        assert!(viewer.status == 200 && viewer.text.contains("visible"), "{}", viewer.text);
        assert!(!viewer.text.contains("4111"), "{}", viewer.text);
        let operator = console.get(path, &format!("authorization: Bearer {}\r\n", console.tokens[1])).await;
        assert!(operator.text.contains("4111"), "{}", operator.text);
    }
}

#[tokio::test]
async fn dead_letters_are_redriven_and_deleted_in_the_browser() {
    let console = Console::start(false).await;
    console.add_dead(json!({ "to": "ada" }), "smtp refused 451").await;
    let browser = Browser::start().await.unwrap();
    let url = |path: &str| format!("http://{}{path}", console.address);
    browser.goto(&url("/queues/mail/dead")).await.unwrap();
    browser.wait_for_text("h3", "smtp refused NUMBER").await.unwrap();
    browser.click("form[action$='/dead/redrive'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "1 redriven").await.unwrap();
    browser.goto(&url("/queues/mail/jobs")).await.unwrap();
    browser.click("td.id a").await.unwrap();
    browser.wait_for_text("pre", "\"to\": \"ada\"").await.unwrap();
    browser.fill("input[name=delay]", "2h").await.unwrap();
    browser.click("form[action$='/reschedule'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "due time was changed").await.unwrap();
    browser.click("form[action$='/revoke'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Revoked").await.unwrap();
    browser.click("form[action$='/pause'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Paused").await.unwrap();
    browser.wait_for_text("dd", "paused").await.unwrap();
    browser.click("form[action$='/resume'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Resumed").await.unwrap();

    console.add_dead(json!({}), "bad address").await;
    browser.goto(&url("/queues/mail/dead")).await.unwrap();
    browser.click("details summary").await.unwrap();
    browser.fill("input[name=confirm]", "mail").await.unwrap();
    browser.click("form[action$='/dead/delete'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "1 deleted").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn figures_change_while_the_page_is_open() {
    let console = Console::start(false).await;
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}/", console.address)).await.unwrap();
    browser.wait_for_text("[data-live='waiting mail']", "0").await.unwrap();
    let mail = console.keel.queue::<Value>("mail").open().await.unwrap();
    mail.delay(std::time::Duration::from_secs(3_600), &json!({})).await.unwrap();
    browser.wait_for_text("[data-live='waiting mail']", "1").await.unwrap();
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn wrong_confirmation_deletes_nothing() {
    let console = Console::start(false).await;
    console.add_dead(json!({}), "bad address").await;
    let (cookie, csrf) = console.visit("/queues/mail/dead", "").await;
    let body =
        format!("csrf={csrf}&group=bad+address&name=0123456789abcdef&from={FIRST}&until=9999999999999&confirm=male");
    let refused = console.send("POST", "/queues/mail/dead/delete", &console.form(&cookie), &body).await;
    assert_eq!((refused.status, refused.text.contains("type the topic")), (422, true), "{}", refused.text);
    assert_eq!(console.keel.topic("mail").await.unwrap().stats().await.unwrap().dead(), 1);
}

#[tokio::test]
async fn dead_letters_by_error_are_as_many_as_the_page_says() {
    let console = Console::start(false).await;
    console.add_dead_many(3, "smtp refused").await;
    let whole = console.get("/queues/mail/dead", "").await.text;
    assert!(whole.contains("Redrive 3") && !whole.contains("there are more"), "{whole}");
    let page = console.get("/queues/mail/dead?limit=2", "").await.text;
    assert!(page.contains("The newest 2 were read; there are more.") && page.contains("Redrive 2"), "{page}");
    assert!(page.contains("href=\"/queues/mail/dead?limit=10000\""), "{page}");
    assert_eq!(console.get("/queues/mail/dead?limit=10001", "").await.status, 422);
}

/// The page of a job had neither what its sender noted nor how many attempts it has.
// shows: hazard CL11, hazard CL24
#[tokio::test]
async fn job_page_shows_attempts_headers_and_progress() {
    let console = Console::start(false).await;
    let mail = console.keel.queue::<Value>("mail").open().await.unwrap();
    let job = mail.job(&json!({ "to": "ada" })).retries(4).header("tenant", "acme").trace(TRACE);
    let sent = job.enqueue().await.unwrap();
    let (failed, mut failures) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = tokio::sync::watch::channel(false);
    let consumer = mail.consume(move |job: Delivery<Value>| {
        let (failed, mut released) = (failed.clone(), released.clone());
        async move {
            let noted = job.progress("row 7 of 9").await;
            let _ = failed.send(());
            noted.map_err(|error| error.to_string())?;
            let _ = released.wait_for(|is_released| *is_released).await;
            Err::<Handled, _>("smtp refused".to_owned())
        }
    });
    let path = format!("/queues/mail/jobs/{}", sent.id);
    let shown = async || console.get(&path, "").await.text;
    let first_attempt = async {
        failures.recv().await.unwrap();
        console.keel.report_once().await.unwrap();
        let process = format!("/ {} <a href=\"/workers\">", std::process::id());
        // The console reads the reports from time to time.
        let running = testkit::eventually("the page names the process", async || {
            let page = shown().await;
            page.contains(&process).then_some(page)
        });
        let page = running.await.unwrap();
        for part in ["<dt>Attempt</dt><dd>1 of 5</dd>", "<dt>Progress</dt><dd>row 7 of 9</dd>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        release.send(true).unwrap();
    };
    consumer.run(first_attempt).await.unwrap();
    let page = shown().await;
    let trace = format!("<dt>Trace</dt><dd>{TRACE}</dd>");
    let parts = ["<dt>Attempt</dt><dd>2 of 5</dd>", &trace, "acme", "row 7 of 9", "attempt 1 failed: smtp refused"];
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// A trace is written by whoever enqueues, and is as private as a body.
// shows: hazard CL24
#[tokio::test]
async fn viewer_sees_no_headers_progress_and_trace_of_a_job() {
    let console = Console::start(true).await;
    let mail = console.keel.queue::<Value>("mail").open().await.unwrap();
    let job = mail.job(&json!({})).header("tenant", "acme").trace(TRACE).delay(std::time::Duration::from_secs(3_600));
    let path = format!("/queues/mail/jobs/{}", job.enqueue().await.unwrap().id);
    for (role, sees) in [(0, false), (1, true)] {
        let page = console.get(&path, &format!("authorization: Bearer {}\r\n", console.tokens[role])).await;
        assert_eq!(
            (page.status, page.text.contains("acme"), page.text.contains(TRACE)),
            (200, sees, sees),
            "{}",
            page.text
        );
    }
}

/// At 1,280 pixels and more, prose stood over empty space, and the figures below it.
// shows: hazard CL25
#[tokio::test]
async fn overview_begins_with_figures() {
    let console = Console::start(false).await;
    console.add_dead(json!({}), "bad address").await;
    let page = console.get("/", "").await.text;
    let parts = ["<dl class=\"tiles\">", "<section class=\"troubles\"", "<h2>Queues</h2>"];
    let places = parts.map(|part| page.find(part).unwrap_or_else(|| unreachable!("{part}: {page}")));
    assert!(places.is_sorted() && !page[..places[0]].contains("<section"), "{page}");
}

/// `type` of a problem was an address without an entry.
// shows: hazard PO13
#[tokio::test]
async fn every_problem_type_of_the_console_is_documented() {
    let console = Console::start(false).await;
    let docs = console.get("/docs", "").await.text;
    let slugs = include_str!("../../../src/kind.rs").lines().filter_map(|line| {
        let (declared, _) = line.trim_start().strip_prefix("pub(crate) ")?.split_once("\", \"")?;
        Some(declared.split_once(", \"")?.1)
    });
    let slugs: Vec<&str> = slugs.collect();
    assert!(slugs.len() > 15, "{slugs:?}");
    for slug in slugs {
        assert!(docs.contains(&format!("id=\"{slug}\"")), "{slug}: {docs}");
    }
}
