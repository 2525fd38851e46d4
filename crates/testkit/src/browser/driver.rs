//! What `fantoccini` does not have: Chromium's own WebDriver commands, and which errors end by themselves.

use anyhow::{Context, Result};
use fantoccini::error::{CmdError, ErrorStatus};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::fmt;
use url::{ParseError, Url};

/// Opens a WebDriver session on the Chromium that listens on `browser_port`.
pub(super) async fn connect(driver_port: u16, browser_port: u16) -> Result<Client> {
    let options = json!({ "debuggerAddress": format!("127.0.0.1:{browser_port}") });
    let capabilities = [("goog:chromeOptions", options), ("goog:loggingPrefs", json!({ "browser": "ALL" }))];
    let capabilities = capabilities.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut builder = ClientBuilder::new(HttpConnector::new());
    let client = builder.capabilities(capabilities).connect(&format!("http://127.0.0.1:{driver_port}")).await;
    client.context("chromedriver did not open a session")
}

/// A POST that only Chromium's driver knows.
#[derive(Debug)]
pub(super) struct ChromiumCommand {
    pub(super) path: &'static str,
    pub(super) body: Value,
}

impl WebDriverCompatibleCommand for ChromiumCommand {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, ParseError> {
        base_url.join(&format!("session/{}/{}", session_id.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _request_url: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

/// Why an action did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The page is not in the expected state yet.
    NotYet(String),
    Driver(CmdError),
}

impl Failure {
    /// Whether the action may succeed once the page has changed.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::NotYet(_) => true,
            Self::Driver(CmdError::Standard(error)) => {
                let may_pass = [
                    ErrorStatus::NoSuchElement,
                    ErrorStatus::StaleElementReference,
                    ErrorStatus::ElementNotInteractable,
                    ErrorStatus::ElementClickIntercepted,
                    ErrorStatus::InvalidElementState,
                ];
                // Chromium's driver has no status for an element of a page that is just being replaced.
                may_pass.contains(&error.error) || error.message.contains("does not belong to the document")
            }
            Self::Driver(_) => false,
        }
    }
}

impl From<CmdError> for Failure {
    fn from(error: CmdError) -> Self {
        Self::Driver(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(reason) => f.write_str(reason),
            // The driver appends a stack trace to its message.
            Self::Driver(error) => f.write_str(error.to_string().lines().next().unwrap_or_default()),
        }
    }
}

impl std::error::Error for Failure {}
