//! Every page of the router with a login, in a real browser: its layout at four widths, the rules that axe-core calls serious and that need no axe
//! (`access.js`), in light and in dark, and axe-core itself, if it is there.

use super::processes::write_report;
use super::routes::routes;
use super::server::Console;
use super::streams::add_letters;
use crate::api::caller::{Caller, answer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;
use testkit::browser::{Browser, emulate_scheme, page_fits};
use testkit::park::Database;

/// The Tab key of WebDriver.
const TAB: &str = "\u{e004}";

/// A console with a login and something on every page, and the addresses of its pages: each page of the router, and some of their states.
async fn pages() -> (Console, Database, Vec<String>) {
    let (database, _pool) = crate::outbox::outbox().await;
    let console = Console::start_with(true, Some(&database.url)).await;
    let caller = Caller { console: &console, token: Some(console.tokens[2].clone()) };
    console.add_dead_many(3, "smtp refused 451: the mailbox of this user is not there").await;
    console.add_dead(json!({ "to": "w".repeat(100) }), "bad address").await;
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let waiting = mail.delay(Duration::from_secs(3_600), &json!({ "to": "w".repeat(100) })).await.unwrap();
    add_letters(&console, &[json!({ "to": "w".repeat(100) })], "the card was declined").await;
    let users = console.keel.cache::<u64, Value>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    users.get(&42, |_| async { Ok::<_, Infallible>(Some(json!({ "name": "ada" }))) }).await.unwrap();
    let groups = caller.read("/topics/mail/dead").await;
    let choice = json!({ "group": "bad address", "until": groups["until"], "rate": 1 });
    let begun = answer(&caller.post_with("/topics/mail/dead/redrive", "idempotency-key: a\r\n", &choice).await);
    let operation = begun["operation"].as_str().unwrap();
    console.keel.report_once().await.unwrap();
    add_long_names(&console).await;
    let letters = caller.read("/streams/orders/groups/billing/dead").await;
    let letter = letters["letters"][0]["id"].as_str().unwrap();
    let pages = [
        "/",
        "/queues/mail",
        "/queues/mail?range=short",
        "/queues/mail/jobs",
        "/queues/mail/jobs?state=dead",
        "/queues/mail/jobs?state=dead&q=smtp",
        &format!("/queues/{TOPIC}/jobs"),
        &format!("/queues/mail/jobs/{waiting}"),
        "/queues/mail/dead",
        "/queues/mail/jobs?state=dead&group=smtp%20refused%20NUMBER",
        "/operations",
        &format!("/operations/{operation}"),
        "/streams",
        "/streams/orders",
        "/streams/orders/groups/billing/dead?q=declined",
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
        "/queues/none",
    ];
    (console, database, pages.map(str::to_owned).to_vec())
}

const TOPIC: &str = "customer_notifications_of_all_warehouses";

/// Names of several words, and large figures, as a company has them.
async fn add_long_names(console: &Console) {
    const HOST: &str = "ip-10-0-113-27.eu-central-1.compute.internal";
    let queue = console.keel.queue::<Value>(TOPIC).open().await.unwrap();
    queue.delay(Duration::from_secs(3_600), &json!({ "kind": "order_was_delivered" })).await.unwrap();
    let (ago, many) = (console.keel.link().unwrap().server_now_ms() - 40_000_000, 1_234_567_890_u64);
    let report = json!({
        "host": HOST, "pid": 4_711_000, "version": "0.1.0-rc.3", "started_ms": ago, "epoch": 12, "left_out": 3,
        "caches": [{ "cache": "customer_profile", "hits": many, "near_hits": many, "misses": many, "loads": many, "loads_failed": 1_204 }],
        "consumers": [{ "topic": TOPIC, "slots": 1_024, "used": 1_000 }],
        "stream_consumers": [{ "stream": "order_events", "group": "billing_and_invoices", "slots": 1_024, "used": 1_000 }],
        "jobs": [{ "topic": TOPIC, "id": "0".repeat(32), "since_ms": ago, "attempt": 3 }],
        "locks": [{ "lock": "warehouses/dock_number_17", "fence": many * 1_000_000, "since_ms": ago }],
        "schedules": [{ "topic": TOPIC, "schedule": "nightly_cleanup_of_carts", "cron": "0 3 * * *", "next_ms": ago }],
        "relays": [{ "database": "shop_production", "outbox": "orders_of_the_shop", "passed_ms": ago }],
    });
    let id = format!("{HOST}.4711.x");
    write_report(&console.keel, &id, &report.to_string()).await;
    // Alive until the test has ended.
    let link = console.keel.link().unwrap();
    let times = format!("{}:{{p}}", link.prefix());
    let later = redis::cmd("ZADD").arg(&times).arg(ago + 80_000_000).arg(&id).take();
    link.command(times.as_bytes(), &later).await.unwrap();
}

/// A browser in which an admin has logged in.
async fn logged_in(console: &Console) -> Browser {
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{}/login", console.address)).await.unwrap();
    browser.fill("#token", &console.tokens[2]).await.unwrap();
    browser.click("main form button").await.unwrap();
    browser.wait_for_text("header", "Log out admin").await.unwrap();
    browser
}

/// The name of a page's screenshot.
fn file_name(path: &str) -> String {
    path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(60).collect()
}

/// A page that is added to the router is added to the list above, or this fails.
#[tokio::test]
async fn every_page_of_the_router_is_checked() {
    let (_console, _database, pages) = pages().await;
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

/// Regression: with a login the navigation broke into two lines at 1,280 pixels, words broke inside, and pages were
/// wider than the window at 390 and 320.
// shows: hazard CL10, hazard CL19, hazard CL22
#[tokio::test]
async fn every_page_is_accessible_and_fits_each_width() {
    let (console, _database, pages) = pages().await;
    let held = console.keel.lock("warehouse/dock-1").metadata("packer 2").acquire().await.unwrap();
    let browser = logged_in(&console).await;
    for path in &pages {
        is_accessible(&browser, &format!("http://{}{path}", console.address)).await;
        let loaded = "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host)";
        let hosts = browser.eval(loaded).await.unwrap();
        assert!(hosts.as_array().unwrap().iter().all(|host| *host == console.address.as_str()), "{path}: {hosts}");
        page_fits(&browser, &file_name(path)).await.unwrap();
        // With everything that a visitor can open.
        browser
            .eval("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
            .await
            .unwrap();
        page_fits(&browser, &format!("{}-opened", file_name(path))).await.unwrap();
        let nav = "const tops = [...document.querySelectorAll('.bar nav a')].map((link) => link.offsetTop); return new Set(tops).size";
        assert!(browser.eval(nav).await.unwrap().as_u64().unwrap() <= 1, "{path}: the navigation has several lines");
        // The browser itself notes the status 404.
        let noted = browser.console().await.unwrap();
        assert!(noted.iter().all(|line| path.ends_with("/none") && line.contains("404")), "{path}: {noted:?}");
    }
    browser.goto(&format!("http://{}/setup", console.address)).await.unwrap();
    browser.click("form[action='/setup/check'] button").await.unwrap();
    browser.wait_for_text("tbody", "ok").await.unwrap();
    page_fits(&browser, "setup-check").await.unwrap();
    held.release().await.unwrap();
}

/// Opens the page, in dark and then in light.
async fn is_accessible(browser: &Browser, url: &str) {
    for scheme in ["dark", "light"] {
        emulate_scheme(browser, scheme).await.unwrap();
        browser.goto(url).await.unwrap();
        browser.type_text("body", TAB).await.unwrap();
        assert_eq!(browser.eval(include_str!("access.js")).await.unwrap(), json!([]), "{url}, {scheme}");
    }
}

/// axe-core is not part of this repository: `npm pack axe-core`, unpack it, and name its `axe.min.js` in `EVENKEEL_AXE`.
#[tokio::test]
async fn axe_finds_no_serious_violation_on_any_page() {
    let Some(file) = std::env::var_os("EVENKEEL_AXE") else {
        return eprintln!("NOT CHECKED: EVENKEEL_AXE does not name the file axe.min.js of axe-core");
    };
    let axe = std::fs::read_to_string(file).unwrap();
    let (console, _database, pages) = pages().await;
    let browser = logged_in(&console).await;
    let run = "return axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations
        .filter((rule) => ['serious', 'critical'].includes(rule.impact))
        .map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`));";
    for scheme in ["light", "dark"] {
        emulate_scheme(&browser, scheme).await.unwrap();
        for path in &pages {
            browser.goto(&format!("http://{}{path}", console.address)).await.unwrap();
            assert_eq!(browser.eval(&format!("{axe}\n{run}")).await.unwrap(), json!([]), "{path}, {scheme}");
        }
    }
}
