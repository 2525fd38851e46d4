//! What an operator does, and what a browser is refused, on both backends: over Redis with a database, and over the embedded store.

use super::server::{Console, announced, new_tokens};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tempfile::TempDir;
use testkit::browser::Browser;
use testkit::park::Database;
use testkit::process::{Child, Launch};

/// A console to walk through, with an entry of a cache and a parked row.
struct Served {
    address: String,
    /// Of a viewer, an operator and an admin; empty without a login.
    tokens: Vec<String>,
    /// A cache and a key of it.
    entry: (&'static str, &'static str),
    _keep: Keep,
}

enum Keep {
    Redis { _console: Box<Console>, _database: Box<Database> },
    Memory { _demo: Child, _folder: TempDir },
}

impl Served {
    async fn redis(with_login: bool) -> Self {
        let (database, _pool) = crate::outbox::outbox().await;
        let console = Console::start_with(with_login, Some(&database.url)).await;
        let users = console.keel.cache::<u64, Value>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
        users.get(&42, |_| async { Ok::<_, Infallible>(Some(json!({ "name": "ada" }))) }).await.unwrap();
        let (address, tokens) = (console.address.clone(), console.tokens.clone());
        let keep = Keep::Redis { _console: Box::new(console), _database: Box::new(database) };
        Self { address, tokens, entry: ("user", "42"), _keep: keep }
    }

    async fn memory(with_login: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens");
        let tokens = if with_login { new_tokens(&file) } else { Vec::new() };
        let mut launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped();
        launch = launch.arguments(["demo", "--listen", "127.0.0.1:0"]);
        if with_login {
            launch = launch.argument("--tokens").argument(&file);
        }
        let mut demo = launch.start().unwrap();
        let address = announced(&mut demo);
        // The readers of the shop load the product 1 again and again.
        Self { address, tokens, entry: ("product", "1"), _keep: Keep::Memory { _demo: demo, _folder: folder } }
    }

    async fn goto(&self, browser: &Browser, path: &str) {
        browser.goto(&format!("http://{}{path}", self.address)).await.unwrap();
    }

    fn entry_page(&self) -> String {
        format!("/caches?cache={}&key={}", self.entry.0, self.entry.1)
    }

    /// Neither an error in the console of the browser nor a request to another machine.
    async fn is_quiet(&self, browser: &Browser) {
        let loaded = "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host)";
        let hosts = browser.eval(loaded).await.unwrap();
        assert!(hosts.as_array().unwrap().iter().all(|host| *host == self.address.as_str()), "{hosts}");
        assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
    }
}

/// A story as one test for each backend.
macro_rules! on_both {
    ($($login:literal $story:ident)*) => {
        mod redis { $(#[tokio::test] async fn $story() { super::$story(super::Served::redis($login).await).await; })* }
        mod memory { $(#[tokio::test] async fn $story() { super::$story(super::Served::memory($login).await).await; })* }
    };
}

on_both! {
    false cache_entry_is_purged_in_the_browser
    false parked_row_is_released_in_the_browser
    false form_without_its_csrf_token_is_refused_in_the_browser
    true viewer_is_refused_what_needs_an_operator
}

async fn cache_entry_is_purged_in_the_browser(served: Served) {
    let browser = Browser::start().await.unwrap();
    served.goto(&browser, "/").await;
    browser.click("a[href='/caches']").await.unwrap();
    browser.fill("#q", served.entry.0).await.unwrap();
    browser.fill("#key", served.entry.1).await.unwrap();
    browser.click("form[role=search] button").await.unwrap();
    browser.wait_for_text("h2", served.entry.0).await.unwrap();
    browser.wait_for_text("dl.facts", "State").await.unwrap();
    browser.click("form:has(input[value=purge]) button").await.unwrap();
    browser.wait_for_text(".notice.good", "Purged: the old value is never served again.").await.unwrap();
    served.is_quiet(&browser).await;
}

async fn parked_row_is_released_in_the_browser(served: Served) {
    let browser = Browser::start().await.unwrap();
    // The relay of the shop may still be trying its messages, and parks them one after another.
    while {
        served.goto(&browser, "/outbox").await;
        browser.count("form[action='/outbox/resend']").await.unwrap() == 0
    } {}
    let released = browser.eval(&format!("{RESENDABLE} return resendable()[0];")).await.unwrap();
    browser.click("form[action='/outbox/resend'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Released").await.unwrap();
    let left = browser.eval(&format!("{RESENDABLE} return resendable();")).await.unwrap();
    assert!(!left.as_array().unwrap().contains(&released), "{released} is still among {left}");
    served.is_quiet(&browser).await;
}

/// What each form for a release sends, without the CSRF token.
const RESENDABLE: &str = "const resendable = () => [...document.querySelectorAll(\"form[action='/outbox/resend']\")].map((form) => \
    [...new FormData(form)].filter(([name]) => name !== 'csrf').join('&'));";

async fn form_without_its_csrf_token_is_refused_in_the_browser(served: Served) {
    let browser = Browser::start().await.unwrap();
    served.goto(&browser, &served.entry_page()).await;
    browser
        .eval("document.querySelectorAll('input[name=csrf]').forEach((field) => { field.value = '0'; })")
        .await
        .unwrap();
    served.is_quiet(&browser).await;
    browser.click("form:has(input[value=purge]) button").await.unwrap();
    browser.wait_for_text("main", "The check of the CSRF token failed").await.unwrap();
    browser.wait_for_text("main", "Nothing was changed").await.unwrap();
}

async fn viewer_is_refused_what_needs_an_operator(served: Served) {
    let browser = Browser::start().await.unwrap();
    served.goto(&browser, &served.entry_page()).await;
    browser.fill("#token", &served.tokens[0]).await.unwrap();
    browser.click("main form button").await.unwrap();
    // The login leads back to the page that was asked for, which has no forms for a viewer.
    browser.wait_for_text("h2", served.entry.0).await.unwrap();
    assert_eq!(browser.count("form[action='/caches/invalidate']").await.unwrap(), 0);
    served.goto(&browser, "/outbox").await;
    assert_eq!(browser.count("form[action='/outbox/resend']").await.unwrap(), 0);
    served.is_quiet(&browser).await;
    // A form of its own making, with the right token, and from a page of the console.
    let forged = "const form = document.querySelector(\"form[action='/logout']\"); form.action = '/caches/invalidate'; \
        for (const [name, value] of [['cache', 'user'], ['key', '42'], ['mode', 'purge']]) { \
        const field = document.createElement('input'); field.name = name; field.value = value; form.append(field); }";
    browser.eval(forged).await.unwrap();
    browser.click("form[action='/caches/invalidate'] button").await.unwrap();
    browser.wait_for_text("main", "you need the role operator; viewer has the role viewer").await.unwrap();
}
