//! A page as its user meets it: headless Chromium, driven through WebDriver.
//!
//! Elements are named by CSS selectors. Every act waits until its element is there and can be acted on, so a test says what the
//! user does and never how long the page takes.

mod driver;
mod fits;
mod http;
mod programs;

pub use fits::{Shot, fits};

use anyhow::{Context, Result, bail};
use driver::{Driver, DriverError};
use programs::Programs;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// A page that needs longer than this has a problem.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// One browser with an empty profile; gone, with its profile, when dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    _programs: Programs,
}

impl Browser {
    /// Starts Chromium with a window of 1280 x 900 and an empty page.
    ///
    /// Errors: `chromium` or `chromedriver` is missing or did not start; the text carries the end of its log.
    pub async fn start() -> Result<Browser> {
        let programs = Programs::start().await?;
        let driver = Driver::open(programs.driver_port, programs.browser_port).await?;
        Ok(Browser { driver, _programs: programs })
    }

    /// Opens an address and returns when the page has loaded.
    pub async fn goto(&self, url: &str) -> Result<()> {
        self.driver.post("url", &json!({ "url": url })).await.map(drop).with_context(|| format!("could not open {url}"))
    }

    /// The address of the page that is shown now.
    pub async fn url(&self) -> Result<String> {
        text_of(self.driver.get("url").await?)
    }

    /// The page's title.
    pub async fn title(&self) -> Result<String> {
        text_of(self.driver.get("title").await?)
    }

    /// Loads the page again.
    pub async fn reload(&self) -> Result<()> {
        Ok(self.driver.post("refresh", &json!({})).await.map(drop)?)
    }

    /// How many elements match now; waits for nothing.
    pub async fn count(&self, css: &str) -> Result<usize> {
        Ok(self.driver.elements(css).await?.len())
    }

    /// Waits until an element matches and is visible.
    pub async fn wait_for(&self, css: &str) -> Result<()> {
        self.on_element("see", css, async |element| {
            match self.driver.get(&format!("element/{element}/displayed")).await? {
                Value::Bool(true) => Ok(()),
                _ => Err(DriverError::not_yet("it is not visible")),
            }
        })
        .await
    }

    /// Waits until nothing matches any more.
    pub async fn wait_until_gone(&self, css: &str) -> Result<()> {
        self.patiently(&format!("no element matches `{css}` any more"), async || {
            match self.driver.elements(css).await?.len() {
                0 => Ok(()),
                left => Err(DriverError::not_yet(format!("{left} are left"))),
            }
        })
        .await
    }

    /// Waits until the visible text of the first match contains `wanted`, and returns that text.
    pub async fn wait_for_text(&self, css: &str, wanted: &str) -> Result<String> {
        self.on_element(&format!("find {wanted:?} in"), css, async |element| {
            let text = self.driver.get(&format!("element/{element}/text")).await?;
            let text = text.as_str().unwrap_or_default();
            if text.contains(wanted) {
                Ok(text.to_owned())
            } else {
                Err(DriverError::not_yet(format!("it says {text:?}")))
            }
        })
        .await
    }

    /// Clicks the first match.
    pub async fn click(&self, css: &str) -> Result<()> {
        self.on_element("click", css, async |element| {
            self.driver.post(&format!("element/{element}/click"), &json!({})).await.map(drop)
        })
        .await
    }

    /// Replaces what is in a field by typing.
    pub async fn fill(&self, css: &str, text: &str) -> Result<()> {
        self.on_element("clear", css, async |element| {
            self.driver.post(&format!("element/{element}/clear"), &json!({})).await.map(drop)
        })
        .await?;
        self.type_text(css, text).await
    }

    /// Types into the first match. Keys such as Enter are WebDriver's characters (`\u{e007}`).
    pub async fn type_text(&self, css: &str, text: &str) -> Result<()> {
        self.on_element("type into", css, async |element| {
            self.driver.post(&format!("element/{element}/value"), &json!({ "text": text })).await.map(drop)
        })
        .await
    }

    /// The visible text of the first match.
    pub async fn text(&self, css: &str) -> Result<String> {
        self.wait_for_text(css, "").await
    }

    /// The visible text of every match there is now; waits for nothing.
    pub async fn texts(&self, css: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for element in self.driver.elements(css).await? {
            texts.push(text_of(self.driver.get(&format!("element/{element}/text")).await?)?);
        }
        Ok(texts)
    }

    /// A property of the first match, such as `value` or `href`, as the page's scripts see it.
    pub async fn property(&self, css: &str, name: &str) -> Result<Value> {
        self.on_element(&format!("read `{name}` of"), css, async |element| {
            self.driver.get(&format!("element/{element}/property/{name}")).await
        })
        .await
    }

    /// Runs the body of a JavaScript function in the page and returns what it returns; a promise is waited for.
    pub async fn eval(&self, script: &str) -> Result<Value> {
        Ok(self.driver.post("execute/sync", &json!({ "script": script, "args": [] })).await?)
    }

    /// What the page's scripts and the browser wrote to the console since the last call, as `LEVEL text`. Failed requests and
    /// violations of the content security policy are among it.
    pub async fn console(&self) -> Result<Vec<String>> {
        let entries = self.driver.post("se/log", &json!({ "type": "browser" })).await?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let line = |entry: &Value| format!("{} {}", text_in(entry, "level"), text_in(entry, "message"));
        Ok(entries.iter().map(line).collect())
    }

    /// Resizes the window, in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        self.driver.post("window/rect", &json!({ "width": width, "height": height })).await.map(drop).context("resize")
    }

    /// Sends a command of the DevTools protocol, such as `Emulation.setEmulatedMedia`.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        Ok(self.driver.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).await?)
    }

    /// Writes what the window shows to a PNG file.
    pub async fn screenshot(&self, path: &Path) -> Result<()> {
        let image = text_of(self.driver.get("screenshot").await?)?;
        let image = http::from_base64(&image).context("the driver's screenshot is no base64")?;
        std::fs::write(path, image).with_context(|| format!("could not write {}", path.display()))
    }

    async fn on_element<T>(
        &self,
        verb: &str,
        css: &str,
        act: impl AsyncFn(String) -> Result<T, DriverError>,
    ) -> Result<T> {
        self.patiently(&format!("{verb} the element `{css}`"), async || {
            let first = self.driver.elements(css).await?.into_iter().next();
            act(first.ok_or_else(|| DriverError::not_yet("there is none"))?).await
        })
        .await
    }

    /// Tries until it works, or fails for a reason that waiting does not change.
    async fn patiently<T>(&self, what: &str, act: impl AsyncFn() -> Result<T, DriverError>) -> Result<T> {
        let began = Instant::now();
        loop {
            let error = match act().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !error.is_worth_waiting() {
                return Err(error).with_context(|| format!("could not {what}"));
            }
            if began.elapsed() > DEADLINE {
                let url = self.url().await.unwrap_or_default();
                bail!("waited {DEADLINE:?} on {url} to {what}: {error}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn text_of(value: Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text),
        other => bail!("the driver answered {other} where a text was expected"),
    }
}

fn text_in<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
