//! Browser tests: headless Chromium, driven over WebDriver with `fantoccini`.
//!
//! CSS selectors name elements. Each action waits until its element exists and can be used, so a test states what the user does and
//! never how long the page takes.

mod driver;
mod fits;
mod programs;

pub use fits::{Shot, emulate_scheme, fits, page_fits};

use anyhow::{Context, Result, bail};
use driver::{ChromiumCommand, Failure};
use fantoccini::elements::Element;
use fantoccini::{Client, Locator};
use programs::Programs;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// The deadline of one action.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// One browser with an empty profile; dropping it ends the browser and deletes the profile.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    _programs: Programs,
}

impl Browser {
    /// Starts Chromium with a window of 1280 x 900 and an empty page.
    ///
    /// Errors: `chromium` or `chromedriver` is missing or did not start; the error contains the end of its log.
    pub async fn start() -> Result<Browser> {
        let programs = Programs::start().await?;
        let client = driver::connect(programs.driver_port, programs.browser_port).await?;
        Ok(Browser { client, _programs: programs })
    }

    /// Opens an address and returns when the page has loaded.
    pub async fn goto(&self, url: &str) -> Result<()> {
        self.client.goto(url).await.with_context(|| format!("could not open {url}"))
    }

    /// The address of the current page.
    pub async fn url(&self) -> Result<String> {
        Ok(self.client.current_url().await?.into())
    }

    /// The title of the current page.
    pub async fn title(&self) -> Result<String> {
        Ok(self.client.title().await?)
    }

    /// Loads the page again.
    pub async fn reload(&self) -> Result<()> {
        Ok(self.client.refresh().await?)
    }

    /// The number of elements that match now.
    pub async fn count(&self, css: &str) -> Result<usize> {
        Ok(self.client.find_all(Locator::Css(css)).await?.len())
    }

    /// Waits until an element matches and is visible.
    pub async fn wait_for(&self, css: &str) -> Result<()> {
        self.on_element("see", css, async |element| {
            if element.is_displayed().await? { Ok(()) } else { Err(Failure::NotYet("it is not visible".into())) }
        })
        .await
    }

    /// Waits until no element matches.
    pub async fn wait_until_gone(&self, css: &str) -> Result<()> {
        self.retried(&format!("wait until no element matches `{css}`"), async || {
            match self.client.find_all(Locator::Css(css)).await?.len() {
                0 => Ok(()),
                left => Err(Failure::NotYet(format!("{left} are left"))),
            }
        })
        .await
    }

    /// Waits until the visible text of the first match contains `expected`, and returns that text.
    pub async fn wait_for_text(&self, css: &str, expected: &str) -> Result<String> {
        self.on_element(&format!("find {expected:?} in"), css, async |element| {
            let text = element.text().await?;
            if text.contains(expected) { Ok(text) } else { Err(Failure::NotYet(format!("its text is {text:?}"))) }
        })
        .await
    }

    /// Clicks the first match.
    pub async fn click(&self, css: &str) -> Result<()> {
        self.on_element("click", css, async |element| Ok(element.click().await?)).await
    }

    /// Replaces the content of a field by typing.
    pub async fn fill(&self, css: &str, text: &str) -> Result<()> {
        self.on_element("clear", css, async |element| Ok(element.clear().await?)).await?;
        self.type_text(css, text).await
    }

    /// Types into the first match. Keys such as Enter are WebDriver's characters (`\u{e007}`).
    pub async fn type_text(&self, css: &str, text: &str) -> Result<()> {
        self.on_element("type into", css, async |element| Ok(element.send_keys(text).await?)).await
    }

    /// The visible text of the first match.
    pub async fn text(&self, css: &str) -> Result<String> {
        self.wait_for_text(css, "").await
    }

    /// The visible text of every element that matches now.
    pub async fn texts(&self, css: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for element in self.client.find_all(Locator::Css(css)).await? {
            texts.push(element.text().await?);
        }
        Ok(texts)
    }

    /// A property of the first match, such as `value` or `href`, as the page's scripts see it.
    pub async fn property(&self, css: &str, name: &str) -> Result<Value> {
        self.on_element(&format!("read `{name}` of"), css, async |element| {
            let element = json!(element);
            Ok(self.client.execute("return arguments[0][arguments[1]]", vec![element, json!(name)]).await?)
        })
        .await
    }

    /// Runs the body of a JavaScript function in the page and returns its result; a promise is awaited.
    pub async fn eval(&self, script: &str) -> Result<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// The console messages since the last call, as `LEVEL text`, including failed requests and violations of the content security
    /// policy.
    pub async fn console(&self) -> Result<Vec<String>> {
        let entries = self.chromium("se/log", json!({ "type": "browser" })).await?;
        let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let line = |entry: &Value| format!("{} {}", text(entry, "level"), text(entry, "message"));
        Ok(entries.as_array().into_iter().flatten().map(line).collect())
    }

    /// Resizes the window, in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        self.client.set_window_size(width, height).await.context("could not resize the window")
    }

    /// Sends a command of the DevTools protocol, such as `Emulation.setEmulatedMedia`.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        self.chromium("goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// Writes a screenshot of the window to a PNG file.
    pub async fn screenshot(&self, path: &Path) -> Result<()> {
        let image = self.client.screenshot().await?;
        std::fs::write(path, image).with_context(|| format!("could not write {}", path.display()))
    }

    async fn chromium(&self, path: &'static str, body: Value) -> Result<Value> {
        Ok(self.client.issue_cmd(ChromiumCommand { path, body }).await?)
    }

    async fn on_element<T>(
        &self,
        verb: &str,
        css: &str,
        act: impl AsyncFn(Element) -> Result<T, Failure>,
    ) -> Result<T> {
        self.retried(&format!("{verb} the element `{css}`"), async || {
            act(self.client.find(Locator::Css(css)).await?).await
        })
        .await
    }

    /// Repeats an action until it succeeds, the deadline passes, or it fails permanently.
    #[expect(clippy::disallowed_methods, reason = "a page sends no notification, so this polls")]
    async fn retried<T>(&self, what: &str, act: impl AsyncFn() -> Result<T, Failure>) -> Result<T> {
        let began = Instant::now();
        loop {
            let failure = match act().await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            if !failure.is_transient() {
                return Err(failure).with_context(|| format!("could not {what}"));
            }
            if began.elapsed() > DEADLINE {
                let url = self.url().await.unwrap_or_default();
                bail!("could not {what} on {url} within {DEADLINE:?}: {failure}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
