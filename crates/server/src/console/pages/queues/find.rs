//! The search for a text in the bodies and errors of one state, as its visitor sees them; one at a time.

use super::rows::{body, error_text};
use crate::console::app::App;
use crate::console::rights::{Action, Visitor};
use crate::console::source::queue_problem;
use crate::queue::search::Part;
use evenkeel::queue::Listed;
use evenkeel::queue::topic::{JobState, Seen, Topic};
use web::Problem;

/// Characters of a text to search for.
pub(crate) const TEXT_MAX: usize = 200;

/// A part of the search, from `before` on.
pub(crate) async fn text(
    app: &App,
    visitor: &Visitor,
    topic: &Topic,
    place: JobState,
    before: Option<Listed>,
    text: &str,
) -> Result<Part, Problem> {
    let _one = app.source.searches.begin(visitor.may(Action::Redrive)).await?;
    let is_match = |seen: &Seen| has(app, visitor, topic.name(), seen, text);
    let mut part = Part::new(before);
    part.search(topic, place, is_match).await.map_err(queue_problem)?;
    Ok(part)
}

/// Whether what this visitor sees of a job has the text. A hit in a hidden field would tell what it hides.
fn has(app: &App, visitor: &Visitor, topic: &str, seen: &Seen, text: &str) -> bool {
    let Ok(job) = &seen.job else { return false };
    body(app, visitor, topic, job).contains(text)
        || job.error_notes().any(|error| error_text(visitor, &error.text, error.class).contains(text))
}
