//! Driving a page: each act waits for its element and does what a user does.

use std::io::{Read, Write};
use std::net::TcpListener;
use testkit::browser::Browser;

const PAGE: &str = r#"<!doctype html><html><head><title>A page</title></head><body>
<h1>Links</h1>
<form onsubmit="add(); return false"><input id="target" value="old"><button>Add</button></form>
<ul id="list"></ul><p id="hidden" hidden>later</p>
<script>
function add() {
  const text = document.querySelector('#target').value;
  setTimeout(() => { const li = document.createElement('li'); li.textContent = text; list.append(li); hidden.hidden = false }, 50);
}
console.error('a message');
</script></body></html>"#;

/// Serves the page to everybody who asks, until the test ends.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                // Chromium opens connections that it may never use.
                if stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", PAGE.len());
                    stream.write_all((head + PAGE).as_bytes()).ok();
                }
            });
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn page_is_read_filled_and_clicked() {
    let browser = Browser::start().await.unwrap();
    let url = serve();
    browser.goto(&url).await.unwrap();
    assert_eq!(browser.url().await.unwrap(), url);
    assert_eq!(browser.title().await.unwrap(), "A page");
    assert_eq!(browser.text("h1").await.unwrap(), "Links");
    assert_eq!(browser.count("li").await.unwrap(), 0);

    browser.fill("#target", "žluť").await.unwrap();
    assert_eq!(browser.property("#target", "value").await.unwrap(), "žluť");
    browser.click("button").await.unwrap();
    browser.wait_for("#hidden").await.unwrap();
    assert_eq!(browser.wait_for_text("li", "ž").await.unwrap(), "žluť");
    browser.type_text("#target", "2\u{e007}").await.unwrap();
    browser.wait_for_text("li:nth-child(2)", "žluť2").await.unwrap();
    assert_eq!(browser.texts("li").await.unwrap(), ["žluť", "žluť2"]);
    assert_eq!(browser.eval("return document.querySelectorAll('li').length").await.unwrap(), 2);

    let console = browser.console().await.unwrap();
    assert!(console.iter().any(|line| line.starts_with("SEVERE") && line.contains("a message")), "{console:?}");
    browser.reload().await.unwrap();
    browser.wait_until_gone("li").await.unwrap();
}

#[tokio::test]
async fn window_is_resized_and_captured_in_dark_mode() {
    let browser = Browser::start().await.unwrap();
    browser.goto(&serve()).await.unwrap();
    browser.resize(500, 800).await.unwrap();
    let dark = serde_json::json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.devtools("Emulation.setEmulatedMedia", dark).await.unwrap();
    assert_eq!(browser.eval("return matchMedia('(prefers-color-scheme: dark)').matches").await.unwrap(), true);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.png");
    browser.screenshot(&file).await.unwrap();
    let image = std::fs::read(&file).unwrap();
    assert_eq!(&image[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(u32::from_be_bytes(image[16..20].try_into().unwrap()), 500, "the width in the image's head");
}

#[tokio::test]
async fn wrong_selector_is_an_error_at_once() {
    let browser = Browser::start().await.unwrap();
    let error = format!("{:#}", browser.click("a[").await.unwrap_err());
    assert!(error.contains("could not click the element `a[`") && error.contains("invalid selector"), "{error}");
}
