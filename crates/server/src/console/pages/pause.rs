//! The forms that pause and resume a topic or a group of a stream.

use super::layout::csrf;
use crate::console::rights::Visitor;
use crate::kind::invalid;
use crate::time::{read_span, read_time};
use maud::{Markup, html};
use serde::Deserialize;
use web::Problem;

/// What a form for a pause sends.
#[derive(Deserialize)]
pub(crate) struct Pause {
    /// A span, or a time; empty: until resumed.
    #[serde(default)]
    until: String,
}

impl Pause {
    /// The end of the pause; `now` is the time of the store.
    pub(super) fn end(&self, now: u64) -> Result<Option<u64>, Problem> {
        let text = self.until.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let end = read_span(text).map(|span| now.saturating_add(span)).or_else(|_| read_time(text));
        end.map(Some).map_err(|_| {
            let forms =
                "Use a span (10m, 2h), a time with its offset (2026-11-21T18:00:00Z), or nothing: until resumed.";
            invalid("until", format!("{forms} Nothing was changed."))
        })
    }
}

/// The forms that pause and resume what is at `path`.
pub(super) fn pause_forms(visitor: &Visitor, path: &str) -> Markup {
    let pause = format!("{path}/pause");
    html! {
        div.forms {
            form method="post" action=(pause) { (csrf(visitor)) input type="hidden" name="until" value="10m"; button { "Pause for 10 minutes" } }
            form method="post" action=(pause) { (csrf(visitor))
                div.field { label { "Pause for or until " small { "(2h, 2026-11-21T18:00:00Z; empty: until resumed)" } " " (visitor.typed(&pause).input("until", false)) } }
                button { "Pause" } }
            form method="post" action={ (path) "/resume" } { (csrf(visitor)) button { "Resume" } }
        }
    }
}
