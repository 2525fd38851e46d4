//! Audit logs that are no regular files.

use super::server::Console;
use serde_json::{Value, json};
use std::io::BufRead;

const PAUSE: &str = "/api/v1/sources/default/topics/mail/pause";
const JSON: &str = "content-type: application/json\r\n";

/// Regression: the console read the pipe back before it listened, and waited for ever.
// shows: hazard T7
#[tokio::test]
async fn audit_log_may_be_a_pipe() {
    let console = Console::start(false).await;
    let (other, mut output) = console.another_with_audit_log("/dev/stdout");
    assert_eq!(other.send("POST", PAUSE, JSON, "{}").await.status, 200);
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let begun: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&begun["action"], &begun["outcome"]), (&json!("pause"), &json!("begun")), "{line}");
    assert_eq!(begun["before"], "0".repeat(64), "a new chain: {line}");
}

/// An action that cannot be logged is not done.
// shows: hazard T7
#[tokio::test]
async fn full_device_as_audit_log_refuses_actions() {
    let console = Console::start(false).await;
    let (other, _output) = console.another_with_audit_log("/dev/full");
    let refused = other.send("POST", PAUSE, JSON, "{}").await;
    assert!(refused.status >= 500, "{}", refused.text);
    let mail = console.keel.topic("mail").await.unwrap();
    assert_eq!(mail.stats().await.unwrap().total.paused_until, None);
}
