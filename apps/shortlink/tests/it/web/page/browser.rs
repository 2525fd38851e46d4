//! The page in a real browser.

use crate::web::server::Server;
use serde_json::{Value, json};
use testkit::browser::{Browser, Shot, fits, page_fits};

async fn open() -> (Server, Browser, String) {
    let server = Server::start();
    let browser = Browser::start().await.unwrap();
    let home = format!("http://{}/", server.client.address);
    browser.goto(&home).await.unwrap();
    (server, browser, home)
}

/// Checks that the browser reported no errors: scripts, content security policy, missing files.
async fn assert_no_complaints(browser: &Browser) {
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn page_creates_finds_edits_bans_and_deletes_link() {
    let (server, browser, home) = open().await;
    assert_eq!(browser.title().await.unwrap(), "Links · shortlink");
    browser.wait_for_text(".empty", "No links yet").await.unwrap();

    browser.fill("#target", "https://example.com/a/long/address?with=many&parts=in#it").await.unwrap();
    browser.fill("#alias", "picnic").await.unwrap();
    browser.click("form[action='/links'] button").await.unwrap();
    let made = browser.wait_for_text(".notice.good", "Your short link is ready.").await.unwrap();
    assert!(made.contains(&format!("{}/picnic", server.client.address)), "{made}");
    assert_eq!(browser.property("#created", "href").await.unwrap(), json!(format!("{home}picnic")));
    let leads_to = async || server.client.get("/picnic").await.header("location").map(str::to_owned);
    assert_eq!(leads_to().await.as_deref(), Some("https://example.com/a/long/address?with=many&parts=in#it"));
    // A reload shows the same page and creates no second link.
    browser.reload().await.unwrap();
    browser.wait_for(".links tbody tr").await.unwrap();
    assert_eq!(browser.count(".links tbody tr").await.unwrap(), 1);

    server.client.make(&json!({ "target": "https://example.org/other" })).await;
    // "/" focuses the search field, Enter searches.
    browser.type_text("body", "/").await.unwrap();
    browser.type_text("#q", "PICNIC\u{e007}").await.unwrap();
    browser.wait_for_text("#all", "Links matching “PICNIC”").await.unwrap();
    assert_eq!(browser.texts(".links .code").await.unwrap(), ["picnic"]);

    browser.click("a[aria-label='Edit picnic']").await.unwrap();
    browser.wait_for_text("h1", "Edit picnic").await.unwrap();
    browser.fill("#target", "https://example.com/moved").await.unwrap();
    browser.click(".primary").await.unwrap();
    browser.wait_for_text(".notice.good", "The link picnic was changed.").await.unwrap();
    assert_eq!(leads_to().await.as_deref(), Some("https://example.com/moved"));

    for (button, reported, status) in [("Ban this link", "was banned.", 410), ("Lift the ban", "was lifted.", 302)] {
        browser.goto(&format!("{home}links/picnic")).await.unwrap();
        browser.wait_for_text("#ban", button).await.unwrap();
        browser.click("#ban").await.unwrap();
        browser.wait_for_text(".notice.good", reported).await.unwrap();
        assert_eq!(server.client.get("/picnic").await.status, status);
    }

    browser.click("a[aria-label='Delete picnic']").await.unwrap();
    browser.wait_for_text("h1", "Delete picnic?").await.unwrap();
    browser.click("button.danger").await.unwrap();
    browser.wait_for_text(".notice.good", "There is no link picnic now.").await.unwrap();
    server.client.get("/picnic").await.problem(404, "unknown-code");
    assert_no_complaints(&browser).await;
}

#[tokio::test]
async fn page_shows_errors_next_to_fields_until_corrected() {
    let (server, browser, _) = open().await;
    server.client.make(&json!({ "target": "https://example.com/", "alias": "mine" })).await;

    browser.fill("#target", "ftp://example.com/file").await.unwrap();
    browser.fill("#alias", "mi ne").await.unwrap();
    browser.click("form[action='/links'] button").await.unwrap();
    browser.wait_for_text("#target-error", "http:// and https://").await.unwrap();
    browser.wait_for_text("#alias-error", "' '").await.unwrap();
    assert_eq!(browser.property("#target", "value").await.unwrap(), "ftp://example.com/file");
    assert_eq!(
        browser.eval("return document.activeElement.id").await.unwrap(),
        "target",
        "the first mistake has the focus"
    );

    browser.fill("#target", "https://example.com/file").await.unwrap();
    browser.fill("#alias", "mine").await.unwrap();
    browser.click("form[action='/links'] button").await.unwrap();
    browser.wait_for_text("#alias-error", "taken").await.unwrap();
    assert_eq!(browser.count("#target-error").await.unwrap(), 0);

    browser.fill("#alias", "yours").await.unwrap();
    browser.click("form[action='/links'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "/yours").await.unwrap();
    assert_eq!(server.client.get("/yours").await.header("location"), Some("https://example.com/file"));

    // The link changes while its form is open.
    browser.click("a[aria-label='Edit yours']").await.unwrap();
    browser.wait_for_text("h1", "Edit yours").await.unwrap();
    let patch = json!({ "target": "https://example.com/theirs" });
    assert_eq!(server.client.json("PATCH", "/api/links/yours", &patch).await.status, 200);
    browser.fill("#target", "https://example.com/ours").await.unwrap();
    browser.click(".primary").await.unwrap();
    browser.wait_for_text(".notice.bad", "This link was changed while you were editing it.").await.unwrap();
    browser.wait_for_text(".notice.bad", "https://example.com/theirs").await.unwrap();
    assert_eq!(browser.property("#target", "value").await.unwrap(), "https://example.com/ours");
    browser.click(".primary").await.unwrap();
    browser.wait_for_text(".notice.good", "was changed").await.unwrap();
    assert_eq!(server.client.get("/yours").await.header("location"), Some("https://example.com/ours"));
}

/// Times are entered and shown in the browser's time zone.
// shows: hazard S41
#[tokio::test]
async fn expiry_is_entered_and_shown_in_local_time() {
    let (server, browser, home) = open().await;
    let zone = json!({ "timezoneId": "Asia/Kolkata" });
    browser.devtools("Emulation.setTimezoneOverride", zone).await.unwrap();
    browser.goto(&home).await.unwrap();
    browser.fill("#target", "https://example.com/").await.unwrap();
    browser.fill("#alias", "later").await.unwrap();
    let typed = "const end = document.getElementById('expires_at'); end.value = '2090-05-06T09:00'; \
                 end.dispatchEvent(new Event('input'));";
    browser.eval(typed).await.unwrap();
    browser.click("form[action='/links'] button").await.unwrap();
    browser.wait_for(".notice.good").await.unwrap();
    let link = server.client.get("/api/links/later").await.value();
    assert_eq!(link["expires_at"], "2090-05-06T03:30:00Z");

    browser.goto(&format!("{home}links/later")).await.unwrap();
    assert_eq!(browser.property("#expires_at", "value").await.unwrap(), "2090-05-06T09:00");
    browser.wait_for_text(".facts", "2090-05-06 09:00").await.unwrap();
    browser.fill("#target", "https://example.com/2").await.unwrap();
    browser.click(".primary").await.unwrap();
    browser.wait_for(".notice.good").await.unwrap();
    assert_eq!(server.client.get("/api/links/later").await.value()["expires_at"], link["expires_at"]);

    // Regression: 02:30 of that night is shown for two times, and saving another field moved the later one by an hour.
    let zone = json!({ "timezoneId": "Europe/Berlin" });
    browser.devtools("Emulation.setTimezoneOverride", zone).await.unwrap();
    let twice = json!({ "target": "https://example.com/", "alias": "twice", "expires_at": "2095-10-30T01:30:00Z" });
    server.client.make(&twice).await;
    browser.goto(&format!("{home}links/twice")).await.unwrap();
    assert_eq!(browser.property("#expires_at", "value").await.unwrap(), "2095-10-30T02:30");
    browser.fill("#target", "example.com/2").await.unwrap();
    browser.click(".primary").await.unwrap();
    browser.wait_for(".notice.good").await.unwrap();
    let saved = server.client.get("/api/links/twice").await.value();
    assert_eq!((&saved["expires_at"], &saved["target"]), (&twice["expires_at"], &json!("https://example.com/2")));
    assert_no_complaints(&browser).await;
}

#[tokio::test]
async fn copy_button_copies_short_url() {
    let (server, browser, home) = open().await;
    server.client.make(&json!({ "target": "https://example.com/", "alias": "copied" })).await;
    let allowed = json!({ "origin": home.trim_end_matches('/'), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
    browser.devtools("Browser.grantPermissions", allowed).await.unwrap();
    browser.goto(&home).await.unwrap();
    browser.click(".links button.copy").await.unwrap();
    browser.wait_for_text(".links button.copy", "Copied").await.unwrap();
    let copied = browser.eval("return navigator.clipboard.readText()").await.unwrap();
    assert_eq!(copied, Value::from(format!("{home}copied")));
}

/// The page does not scroll sideways on a phone with long URLs, and the list is paged.
#[tokio::test]
async fn list_fits_phone_and_has_pages() {
    let (server, browser, home) = open().await;
    for number in 0..25 {
        let target = format!("https://example.com/{number}/{}", "long-".repeat(100));
        server
            .client
            .make(&json!({ "target": target, "alias": format!("a-rather-long-alias-for-number-{number}") }))
            .await;
    }
    let metrics = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await.unwrap();
    browser.goto(&home).await.unwrap();
    for page in [home.clone(), format!("{home}links/a-rather-long-alias-for-number-3"), format!("{home}docs")] {
        browser.goto(&page).await.unwrap();
        let sideways = browser.eval("return document.documentElement.scrollWidth - window.innerWidth").await.unwrap();
        assert_eq!(sideways, 0, "{page}");
    }
    browser.goto(&home).await.unwrap();
    browser.wait_for_text(".pages", "1–20 of 25").await.unwrap();
    browser.click("a[rel='next']").await.unwrap();
    browser.wait_for_text(".pages", "21–25 of 25").await.unwrap();
    assert_eq!(browser.count("a[rel='next']").await.unwrap(), 0);
    browser.click("a[rel='prev']").await.unwrap();
    browser.wait_for_text(".pages", "1–20 of 25").await.unwrap();
    assert_no_complaints(&browser).await;
}

// shows: hazard S13
#[tokio::test]
async fn pages_fit_every_width() {
    let (server, browser, home) = open().await;
    fits(&browser, &[Shot::new("empty", &home)]).await.unwrap();
    for number in 0..21 {
        let target = format!("https://example.com/{number}/{}", "long-".repeat(100));
        let alias = format!("{}{number}", "w".repeat(60));
        server.client.make(&json!({ "target": target, "alias": alias })).await;
    }
    let target = format!("https://{}.example/", "m".repeat(60));
    server.client.make(&json!({ "target": target, "alias": "short", "expires_at": "2999-12-31T23:59:59Z" })).await;
    click(&server, "short").await;
    let pages = [
        ("home", home.clone()),
        ("created", format!("{home}?created={}0", "w".repeat(60))),
        ("nothing", format!("{home}?q={}", "x".repeat(80))),
        ("second", format!("{home}?page=2")),
        ("edit", format!("{home}links/{}0", "w".repeat(60))),
        ("clicks", format!("{home}links/short")),
        ("delete", format!("{home}links/{}0/delete", "w".repeat(60))),
        ("visitor", format!("{home}{}", "n".repeat(60))),
        ("api", format!("{home}docs")),
    ];
    let pages = pages.map(|(name, url)| Shot::new(name, &url));
    fits(&browser, &pages).await.unwrap();
}

/// Visitors of short links do not use the administration.
// shows: hazard S12
#[tokio::test]
async fn error_pages_of_visitors_have_no_administration_links() {
    let (_server, browser, home) = open().await;
    for (path, links) in [("gone", 0), ("a/b/c", 0), ("links/gone", 8)] {
        browser.goto(&format!("{home}{path}")).await.unwrap();
        browser.wait_for("h1").await.unwrap();
        assert_eq!(browser.count("a").await.unwrap(), links, "{path}");
    }
}

/// Follows a link three times, as a person.
async fn click(server: &Server, code: &str) {
    let agent = [("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")];
    for _ in 0..3 {
        server.client.send("GET", &format!("/{code}"), &agent, b"").await;
    }
    let path = format!("/api/links/{code}/clicks");
    let counted = testkit::eventually("the clicks are counted", || async {
        (server.client.get(&path).await.value()["total"]["clicks"] == 3).then_some(())
    });
    counted.await.unwrap();
}

/// The chart follows the color scheme, has its numbers as a table, and fits on a small screen.
// shows: hazard S41
#[tokio::test]
async fn page_shows_clicks_as_chart_and_table() {
    let (server, browser, home) = open().await;
    server.client.make(&json!({ "target": "https://example.com/", "alias": "promo" })).await;
    click(&server, "promo").await;
    browser.goto(&format!("{home}links/promo")).await.unwrap();
    browser.wait_for_text("#clicks", "Clicks").await.unwrap();
    assert_eq!(browser.count("svg.chart rect.people").await.unwrap(), 30);
    // Regression: the labels were scaled with the drawing, to five pixels on a telephone.
    let metrics = json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await.unwrap();
    let heights = "return [...document.querySelectorAll('.clicks svg text, .clicks .scale')].map(label => label.getBoundingClientRect().height)";
    let heights = browser.eval(heights).await.unwrap();
    let heights = heights.as_array().unwrap();
    assert!(heights.len() == 2 && heights.iter().all(|height| height.as_f64().unwrap() >= 14.0), "{heights:?}");
    browser.click(".clicks summary").await.unwrap();
    browser.wait_for_text(".numbers tbody td", "3").await.unwrap();
    page_fits(&browser, "numbers").await.unwrap();
    assert_no_complaints(&browser).await;
}
