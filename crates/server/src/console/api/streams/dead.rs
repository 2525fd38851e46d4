//! Dead letters of a group: pages, replay, deletion.

use crate::console::api::OnStream;
use crate::console::api::body::Body;
use crate::console::api::openapi::{ActProblems, ReadProblems};
use crate::console::api::wide::Wide;
use crate::console::pages::streams::key;
use crate::console::rights::Visitor;
use crate::console::security::redact::Origin;
use crate::console::source::stream_problem;
use crate::kind::invalid;
use crate::operations::{Answers, stream_dead};
use crate::output::printable;
use crate::stream::{kind, letters};
use axum::Json;
use evenkeel::stream::admin::{DeadLetter, DeadLetters, LetterFilter, LetterId, Note};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{JsonBody, Problem, Query};

/// Letters of a page without `limit`, and of one request that changes them.
const PAGE: usize = 50;
const LETTERS_MAX: usize = 500;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<usize>,
}

/// A page of dead letters, by partition, then oldest first.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamLetters)]
pub(crate) struct Letters {
    letters: Vec<LetterView>,
    /// Pass it on as `after`; absent: there are no more.
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StreamLetter)]
struct LetterView {
    /// `PARTITION:ID`.
    id: String,
    /// In ms since 1970.
    died_at: Wide,
    /// The entry from which it came.
    origin: String,
    key: String,
    /// Later entries of its key are dead letters, too.
    parks_key: bool,
    errors: Vec<ErrorView>,
    #[serde(flatten)]
    body: Body,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StreamLetterError)]
struct ErrorView {
    /// In ms since 1970.
    at: Wide,
    /// `failed`, `crashed` or `dead`.
    kind: &'static str,
    /// Absent for viewers.
    text: Option<String>,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/dead", tag = "streams", summary = "Dead letters of a group",
    operation_id = "list_letters",
    params(
        ("after" = Option<String>, Query, pattern = "^[0-9]{1,4}:[0-9]{1,15}-[0-9]{1,15}$", description = "`next` of the page before"),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 500, description = "Default: 50"),
    ),
    responses((status = 200, description = "Done", body = Letters), ReadProblems)
)]
pub(crate) async fn list(at: OnStream, Query(page): Query<Page>) -> Result<Json<Letters>, Problem> {
    let dead = at.letters().await?;
    let after = page.after.as_deref().map(|after| letter_id("after", after)).transpose()?;
    let limit = page.limit.unwrap_or(PAGE);
    let page = letters::page(&dead, &LetterFilter::default(), after, limit).await.map_err(stream_problem)?;
    let view = |(id, letter): &(LetterId, DeadLetter)| {
        let value = DeadLetters::value_of(letter);
        let notes = letter.tries.iter().flat_map(|tries| &tries.notes);
        LetterView {
            id: id.to_string(),
            died_at: Wide(letter.id.ms),
            origin: letter.origin.to_string(),
            key: key(&at.visitor, &letter.key),
            parks_key: letter.parks_key,
            errors: notes.map(|note| error(&at.visitor, note)).collect(),
            body: value
                .map(|value| Body::seen_by(&at.app, &at.visitor, Origin::Stream(&at.names.stream), &value))
                .unwrap_or_default(),
        }
    };
    Ok(Json(Letters { letters: page.letters.iter().map(view).collect(), next: page.next.map(|next| next.to_string()) }))
}

fn error(visitor: &Visitor, note: &Note) -> ErrorView {
    let text = visitor.sees_bodies().then(|| printable(&note.text));
    ErrorView { at: Wide(note.at), kind: kind(note.kind), text }
}

/// Which dead letters.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReplayLetters)]
pub(crate) struct Replay {
    /// The ids, as `dead` lists them.
    #[schema(min_items = 1, max_items = 500, pattern = "^[0-9]{1,4}:[0-9]{1,15}-[0-9]{1,15}$")]
    ids: Vec<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeleteLetters)]
pub(crate) struct Deletion {
    /// The ids, as `dead` lists them.
    #[schema(min_items = 1, max_items = 500, pattern = "^[0-9]{1,4}:[0-9]{1,15}-[0-9]{1,15}$")]
    ids: Vec<String>,
    /// The group's name.
    confirm: String,
}

/// What has become of each letter, in order.
#[derive(Serialize, ToSchema)]
#[schema(as = ChangedLetters)]
pub(crate) struct Changed {
    letters: Vec<One>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChangedLetter)]
struct One {
    id: String,
    /// `replayed`, `deleted`; `unknown`: it is no dead letter; `parked`: later entries of its key would overtake it, nothing changed.
    result: String,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/dead/replay", tag = "streams", summary = "Append dead letters again, for their group only",
    operation_id = "replay_letters",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Replay,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn replay(at: OnStream, JsonBody(Replay { ids }): JsonBody<Replay>) -> Result<Json<Changed>, Problem> {
    let (parsed, dead) = (letter_ids(&ids)?, at.letters().await?);
    let replayed = at.perform(stream_dead::replay(&dead, at.names.group(), &parsed, false), "").await?;
    Ok(changed(ids, &replayed))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/groups/{group}/dead/delete", tag = "streams", summary = "Delete dead letters; there is no undo",
    operation_id = "delete_letters",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Deletion,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(crate) async fn delete(
    at: OnStream,
    JsonBody(Deletion { ids, confirm }): JsonBody<Deletion>,
) -> Result<Json<Changed>, Problem> {
    let (parsed, dead) = (letter_ids(&ids)?, at.letters().await?);
    let deleted = at.perform(stream_dead::delete(&dead, at.names.group(), &parsed), &confirm).await?;
    Ok(changed(ids, &deleted))
}

fn changed(ids: Vec<String>, answers: &Answers) -> Json<Changed> {
    let one = |(id, result): (String, &str)| One { id, result: result.to_owned() };
    Json(Changed { letters: ids.into_iter().zip(answers.results("parked")).map(one).collect() })
}

fn letter_ids(ids: &[String]) -> Result<Vec<LetterId>, Problem> {
    if !(1..=LETTERS_MAX).contains(&ids.len()) {
        return Err(invalid("ids", format!("Send 1 to {LETTERS_MAX} ids in a request.")));
    }
    ids.iter().map(|id| letter_id("ids", id)).collect()
}

fn letter_id(field: &'static str, text: &str) -> Result<LetterId, Problem> {
    text.parse().map_err(|error: evenkeel::stream::StreamError| invalid(field, error.to_string()))
}
