//! `/log`: who did what with this console, newest first.

use super::layout::page;
use crate::console::app::App;
use crate::console::rights::Visitor;
use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;

pub(super) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let (entries, is_file) = app.audit.recent();
    let body = html! {
        h1 { "Log" }
        p.hint { "The newest lines since this console has started. "
            @if is_file { "The file of " code { "--audit-log" } " has all." } @else { "Start the console with " code { "--audit-log FILE" } " to keep them." } }
        section.card {
            @if entries.is_empty() { div.empty { h3 { "No actions yet" } p { "Each action has two lines: one before it is done, and one with its outcome." } } }
            @else { div.scroll tabindex="0" { table.rows {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Who" } th scope="col" { "Action" } th scope="col" { "Target" } th scope="col" { "Outcome" } } }
                tbody { @for entry in &entries { tr {
                    td { (word(&entry["at"])) }
                    td data-label="Who" { (word(&entry["actor"])) }
                    td data-label="Action" { (word(&entry["action"])) }
                    td data-label="Target" { (word(&entry["target"])) }
                    td data-label="Outcome" { (outcome(entry)) }
                } } }
            } } }
        }
    };
    page(&app, &visitor, "Log", None, &body)
}

/// A text as it is, an object as JSON, and nothing for what is not there.
fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn outcome(entry: &Value) -> String {
    let result = &entry["result"];
    let text = result.get("answer").or_else(|| result.get("problem")).map(word);
    [Some(word(&entry["outcome"])), text].into_iter().flatten().collect::<Vec<_>>().join(": ")
}
