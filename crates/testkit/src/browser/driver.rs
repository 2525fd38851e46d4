//! One WebDriver session.

use super::http;
use serde_json::{Value, json};
use std::fmt;

/// The name WebDriver gives to the field that holds an element's id.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

#[derive(Debug)]
pub(super) struct Driver {
    port: u16,
    session: String,
}

/// What the driver refused, in its own words.
#[derive(Debug)]
pub(super) struct DriverError {
    kind: String,
    message: String,
}

impl DriverError {
    /// The page may still get there.
    pub(super) fn not_yet(message: impl Into<String>) -> DriverError {
        DriverError { kind: "not yet".to_owned(), message: message.into() }
    }

    /// Whether the same request may work once the page has changed.
    pub(super) fn is_worth_waiting(&self) -> bool {
        let kinds =
            ["not yet", "no such element", "stale element", "not interactable", "invalid element state", "intercepted"];
        // The driver has no kind for an element whose page is just being replaced.
        kinds.iter().any(|kind| self.kind.contains(kind)) || self.message.contains("does not belong to the document")
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message goes on with a stack trace of the driver.
        write!(f, "{}: {}", self.kind, self.message.lines().next().unwrap_or_default())
    }
}

impl std::error::Error for DriverError {}

impl Driver {
    /// Opens a session on the browser that listens on `browser_port`.
    pub(super) async fn open(port: u16, browser_port: u16) -> Result<Driver, DriverError> {
        let options = json!({ "debuggerAddress": format!("127.0.0.1:{browser_port}") });
        let wanted = json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let answer =
            call(port, "POST", "/session", Some(&json!({ "capabilities": { "alwaysMatch": wanted } }))).await?;
        Ok(Driver { port, session: super::text_in(&answer, "sessionId").to_owned() })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, DriverError> {
        call(self.port, "GET", &self.path(path), None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, DriverError> {
        call(self.port, "POST", &self.path(path), Some(body)).await
    }

    /// The ids of all elements that match now.
    pub(super) async fn elements(&self, css: &str) -> Result<Vec<String>, DriverError> {
        let found = self.post("elements", &json!({ "using": "css selector", "value": css })).await?;
        let found = found.as_array().cloned().unwrap_or_default();
        Ok(found.iter().map(|element| super::text_in(element, ELEMENT).to_owned()).collect())
    }

    fn path(&self, path: &str) -> String {
        format!("/session/{}/{path}", self.session)
    }
}

async fn call(port: u16, method: &str, path: &str, body: Option<&Value>) -> Result<Value, DriverError> {
    let answer = http::request(port, method, path, body).await;
    let mut answer = answer.map_err(|error| DriverError { kind: "no answer".into(), message: format!("{error:#}") })?;
    let value = answer["value"].take();
    match value["error"].as_str() {
        Some(kind) if value["message"].is_string() => {
            Err(DriverError { kind: kind.to_owned(), message: super::text_in(&value, "message").to_owned() })
        }
        _ => Ok(value),
    }
}
