//! A caller of the API.

use crate::console::server::{Console, Response};
use serde_json::{Value, json};

/// Below this are the resources of the only source.
pub(crate) const ROOT: &str = "/api/v1/sources/default";

/// A program with a token, or without one on loopback.
pub(crate) struct Caller<'a> {
    pub(crate) console: &'a Console,
    pub(crate) token: Option<String>,
}

impl<'a> Caller<'a> {
    /// Without a login.
    pub(crate) fn local(console: &'a Console) -> Self {
        Self { console, token: None }
    }

    /// With a new API key of these arguments of `evenkeel token new`.
    pub(crate) fn key(console: &'a Console, name: &str, arguments: &[&str]) -> Self {
        let file = console.folder.path().join("tokens");
        let start = ["token", "new", name, "--tokens", file.to_str().unwrap()];
        let made = crate::program::evenkeel(&[&start, arguments].concat());
        assert_eq!(made.code, 0, "{}", made.err);
        Self { console, token: Some(made.out.trim().to_owned()) }
    }

    fn headers(&self) -> String {
        let token = self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n"));
        format!("{}content-type: application/json\r\n", token.unwrap_or_default())
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.console.get(&format!("{ROOT}{path}"), &self.headers()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.post_with(path, "", body).await
    }

    pub(crate) async fn post_with(&self, path: &str, headers: &str, body: &Value) -> Response {
        let headers = format!("{}{headers}", self.headers());
        self.console.send("POST", &format!("{ROOT}{path}"), &headers, &body.to_string()).await
    }

    /// The JSON of a successful `GET`.
    pub(crate) async fn read(&self, path: &str) -> Value {
        answer(&self.get(path).await)
    }

    /// The JSON of a successful `POST`.
    pub(crate) async fn act(&self, path: &str, body: &Value) -> Value {
        answer(&self.post(path, body).await)
    }

    /// Enqueues one job, and returns its id.
    pub(crate) async fn add(&self, job: &Value) -> String {
        let added = self.act("/topics/mail/jobs", &json!({ "jobs": [job] })).await;
        assert_eq!(added["jobs"][0]["result"], "created", "{added}");
        added["jobs"][0]["id"].as_str().unwrap().to_owned()
    }
}

/// The JSON of a successful response.
pub(crate) fn answer(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text);
    serde_json::from_str(&response.text).unwrap()
}

/// Status, type and outcome of a problem.
pub(crate) fn problem(response: &Response) -> (u16, String, String) {
    assert!(response.head.contains("application/problem+json"), "{}\n{}", response.head, response.text);
    let problem: Value = serde_json::from_str(&response.text).unwrap();
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    (response.status, text("type").trim_start_matches("/docs#").to_owned(), text("outcome"))
}
