//! `/log`: who did what with this console, newest first. The log has two lines for each action, the page one row.

use super::layout::page;
use super::wrapping::wrapping;
use crate::console::app::App;
use crate::console::rights::Visitor;
use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::HashMap;

pub(super) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let (entries, is_file) = app.audit.recent();
    let (begun, ended): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(|entry| entry["outcome"] == "begun");
    let ends: HashMap<String, &Value> = ended.into_iter().map(|entry| (word(&entry["id"]), entry)).collect();
    let body = html! {
        h1 { "Log" }
        p.hint { "The newest actions since this console has started. "
            @if is_file { "The file of " code { "--audit-log" } " has all." } @else { "Start the console with " code { "--audit-log FILE" } " to keep them." } }
        section.card {
            @if begun.is_empty() { div.empty { h3 { "No actions yet" } p { "Each action is here with its outcome." } } }
            @else { div.scroll tabindex="0" { table.rows {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Who" } th scope="col" { "Action" } th scope="col" { "Target" } th scope="col" { "Outcome" } } }
                tbody { @for entry in begun { tr {
                    td.when { (second(&word(&entry["at"]))) }
                    td data-label="Who" { (word(&entry["actor"])) }
                    td data-label="Action" { (word(&entry["action"])) }
                    td data-label="Target" { (wrapping(&word(&entry["target"]))) }
                    td data-label="Outcome" { (wrapping(&outcome(ends.get(&word(&entry["id"])).copied()))) }
                } } }
            } } }
        }
    };
    page(&app, &visitor, "Log", &body)
}

/// A text as it is, an object as its names and values, and nothing for what is not there.
fn word(value: &Value) -> String {
    let list = |words: Vec<String>| words.join(", ");
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => list(values.iter().map(word).collect()),
        Value::Object(fields) => list(fields.iter().map(|(name, value)| format!("{name} {}", word(value))).collect()),
        other => other.to_string(),
    }
}

/// A time of the log, to the second.
fn second(at: &str) -> String {
    at.get(..19).map_or_else(|| at.to_owned(), |second| format!("{second}Z"))
}

/// What the second line of an action says; without one it runs, or was interrupted.
fn outcome(end: Option<&Value>) -> String {
    let Some(entry) = end else { return "begun, no outcome yet".to_owned() };
    let result = &entry["result"];
    let text = result.get("answer").or_else(|| result.get("problem")).map(word);
    [Some(word(&entry["outcome"])), text].into_iter().flatten().collect::<Vec<_>>().join(": ")
}
