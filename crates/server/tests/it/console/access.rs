//! Accessibility of every page of the router, in a real browser: the rules that axe-core calls serious and that need no axe (`access.js`), in light
//! and in dark; and axe-core itself, if it is there.

use super::routes::routes;
use super::server::{Console, FIRST};
use super::streams::add_letters;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;
use testkit::browser::Browser;

/// The name of a redrive, which is the id of its page.
const OPERATION: &str = "0123456789abcdef";

/// The Tab key of WebDriver.
const TAB: &str = "\u{e004}";

/// A console with something on every page, and the addresses of its pages: each page of the router, and some of their states.
async fn pages() -> (Console, Vec<String>) {
    let console = Console::start(false).await;
    console.add_dead_many(3, "smtp refused 451").await;
    console.add_dead(json!({}), "bad address").await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let waiting = mail.delay(Duration::from_secs(3_600), &json!({ "to": "ada" })).await.unwrap();
    add_letters(&console, &[json!(1)], "bad feed").await;
    let users = console.keel.cache::<u64, Value>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    users.get(&42, |_| async { Ok::<_, Infallible>(Some(json!({ "name": "ada" }))) }).await.unwrap();
    let (cookie, csrf) = console.visit("/queues/mail/dead", "").await;
    let redrive = format!("csrf={csrf}&group=bad+address&from={FIRST}&until=99999999999999&name={OPERATION}&rate=1");
    let begun = console.send("POST", "/queues/mail/dead/redrive", &console.form(&cookie), &redrive).await;
    assert_eq!(begun.status, 303, "{}", begun.text);
    console.keel.report_once().await.unwrap();
    let listed = console.get("/streams/orders/groups/billing/dead", "").await.text;
    let letter = listed.split("href=\"/streams/orders/groups/billing/dead/").nth(1).unwrap().split('"').next().unwrap();
    let pages = [
        "/",
        "/queues/mail",
        "/queues/mail/jobs",
        "/queues/mail/jobs?state=dead",
        "/queues/mail/jobs?state=dead&q=smtp",
        &format!("/queues/mail/jobs/{waiting}"),
        "/queues/mail/dead",
        "/queues/mail/jobs?state=dead&group=smtp%20refused%20NUMBER",
        "/operations",
        &format!("/operations/{OPERATION}"),
        "/streams",
        "/streams/orders",
        "/streams/orders/groups/billing/dead",
        &format!("/streams/orders/groups/billing/dead/{letter}"),
        "/caches",
        "/caches?cache=user&key=42",
        "/locks",
        "/locks?scan=1",
        "/workers",
        "/schedules",
        "/outbox",
        "/link",
        "/setup",
        "/setup?scan=1",
        "/log",
        "/docs",
        "/login",
    ];
    (console, pages.map(str::to_owned).to_vec())
}

/// A page that is added to the router is added to the list above, or this fails.
#[tokio::test]
async fn every_page_of_the_router_is_checked() {
    let (_console, pages) = pages().await;
    // Ids differ from run to run.
    let is_id = |part: &&str| part.len() >= 16 && part.bytes().any(|byte| byte.is_ascii_digit());
    let template = |path: &str| {
        let path = path.split('?').next().unwrap_or(path);
        let parts: Vec<&str> = path.split('/').map(|part| if is_id(&part) { "ID" } else { part }).collect();
        parts.join("/")
    };
    let listed: BTreeSet<String> = pages.iter().map(|path| template(path)).collect();
    for (_, path, ..) in routes().iter().filter(|(_, _, kind, _)| kind == "page") {
        assert!(listed.contains(&template(path)), "{path} is not in the list: {listed:?}");
    }
}

#[tokio::test]
async fn pages_have_names_labels_landmarks_contrast_and_visible_focus() {
    let (console, pages) = pages().await;
    let held = console.keel.lock("stock/42").acquire().await.unwrap();
    let browser = Browser::start().await.unwrap();
    for scheme in ["light", "dark"] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", media).await.unwrap();
        for path in &pages {
            browser.goto(&format!("http://{}{path}", console.address)).await.unwrap();
            browser.type_text("body", TAB).await.unwrap();
            assert_eq!(browser.eval(include_str!("access.js")).await.unwrap(), json!([]), "{path}, {scheme}");
            let loaded = "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host)";
            let hosts = browser.eval(loaded).await.unwrap();
            assert!(hosts.as_array().unwrap().iter().all(|host| *host == console.address.as_str()), "{path}: {hosts}");
            assert_eq!(browser.console().await.unwrap(), Vec::<String>::new(), "{path}, {scheme}");
        }
    }
    held.release().await.unwrap();
}

/// axe-core is not part of this repository: `npm pack axe-core`, unpack it, and name its `axe.min.js` in `EVENKEEL_AXE`.
#[tokio::test]
async fn axe_finds_no_serious_violation_on_any_page() {
    let Some(file) = std::env::var_os("EVENKEEL_AXE") else {
        return eprintln!("NOT CHECKED: EVENKEEL_AXE does not name the file axe.min.js of axe-core");
    };
    let axe = std::fs::read_to_string(file).unwrap();
    let (console, pages) = pages().await;
    let browser = Browser::start().await.unwrap();
    let run = "return axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations
        .filter((rule) => ['serious', 'critical'].includes(rule.impact))
        .map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`));";
    for scheme in ["light", "dark"] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", media).await.unwrap();
        for path in &pages {
            browser.goto(&format!("http://{}{path}", console.address)).await.unwrap();
            assert_eq!(browser.eval(&format!("{axe}\n{run}")).await.unwrap(), json!([]), "{path}, {scheme}");
        }
    }
}
