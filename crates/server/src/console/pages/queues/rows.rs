//! Jobs as a table, from whole jobs or from their previews.

use crate::console::app::App;
use crate::console::pages::topic_path;
use crate::console::pages::wrapping::wrapping;
use crate::console::rights::Visitor;
use crate::console::security::redact::Origin;
use crate::output::{printable, truncated};
use crate::queue::jobs::names::class_text;
use crate::time::distance;
use evenkeel::queue::topic::{Preview, Previewed, Seen};
use evenkeel::queue::{ErrorClass, Job, JobId, Listed};
use maud::{Markup, html};

/// Characters of a body or an error in a row.
const CELL: usize = 64;

/// One row, as this visitor may see it.
pub(crate) struct Row {
    pub(crate) id: JobId,
    pub(crate) score: u64,
    job: Result<Cells, String>,
}

struct Cells {
    errors: u16,
    body: String,
    error: String,
}

impl Row {
    pub(crate) fn of_seen(app: &App, visitor: &Visitor, topic: &str, seen: &Seen) -> Self {
        let cells = |job: &Job| Cells::new(app, visitor, topic, job);
        let job = seen.job.as_ref().map(|job| cells(job)).map_err(ToString::to_string);
        Self { id: seen.id, score: seen.score, job }
    }

    pub(crate) fn of_preview(app: &App, visitor: &Visitor, topic: &str, previewed: &Previewed) -> Self {
        let Listed { id, score } = previewed.listed;
        let job = match &previewed.preview {
            Preview::Live { job, .. } => Ok(Cells::new(app, visitor, topic, job)),
            Preview::Unreadable(unreadable) => Err(unreadable.to_string()),
            Preview::Ended(_) => Err("ended meanwhile".to_owned()),
        };
        Self { id, score, job }
    }
}

impl Cells {
    fn new(app: &App, visitor: &Visitor, topic: &str, job: &Job) -> Self {
        let last = job.error_notes().last();
        let error = last.map(|error| truncated(&error_text(visitor, &error.text, error.class), CELL));
        let body = truncated(&body(app, visitor, topic, job), CELL);
        Self { errors: job.errors, body, error: error.unwrap_or_default() }
    }
}

/// `time` is what the time of a row means.
pub(crate) fn table(topic: &str, rows: &[Row], time: &str, now: u64) -> Markup {
    let path = topic_path(topic);
    html! {
        div.scroll { table.rows {
            thead { tr { th scope="col" { "Id" } th scope="col" { (time) } th scope="col" { "Errors" } th scope="col" { "Body" } th scope="col" { "Last error" } } }
            tbody { @for row in rows { tr {
                td.id { a href={ (path) "/jobs/" (row.id) } { (row.id) } }
                td data-label=(time) { (distance(row.score, now)) }
                @match &row.job {
                    Ok(cells) => {
                        td data-label="Errors" { (cells.errors) }
                        td data-label="Body" { (wrapping(&cells.body)) }
                        td data-label="Last error" { (wrapping(&cells.error)) }
                    }
                    Err(unreadable) => { td colspan="3" { (unreadable) } }
                }
            } } }
        } }
    }
}

/// A body as this visitor may see it.
pub(crate) fn body(app: &App, visitor: &Visitor, topic: &str, job: &Job) -> String {
    if !visitor.sees_bodies() {
        return app.security.redaction.body(Origin::Topic(topic), &job.spec.body).to_string();
    }
    printable(&job.spec.body)
}

/// The text of an error as this visitor may see it: viewers see its class only.
pub(crate) fn error_text(visitor: &Visitor, text: &[u8], class: ErrorClass) -> String {
    if visitor.sees_bodies() && !text.is_empty() { printable(text) } else { class_text(class).to_owned() }
}
