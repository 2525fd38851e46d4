//! Reads a page of entries, and appends entries.

use crate::console::api::OnStream;
use crate::console::api::body::{Body, given, sent};
use crate::console::api::jobs::dead::idempotency_name;
use crate::console::api::limits::{base64, entry_key};
use crate::console::api::openapi::{ActProblems, ReadProblems};
use crate::console::api::wide::Wide;
use crate::console::pages::streams::key;
use crate::console::rights::Action;
use crate::console::security::redact::Origin;
use crate::console::source::stream_problem;
use crate::kind::{PARTIAL, PARTLY_APPENDED, invalid};
use axum::Json;
use axum::http::HeaderMap;
use bytes::Bytes;
use evenkeel::stream::admin::{LetterId, Peeked};
use evenkeel::stream::{EntryId, StreamError};
use evenkeel_protocol::stream::entry::Record;
use evenkeel_protocol::stream::steps::{KEY_BYTES_MAX, RECORD_BYTES_MAX};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::{JsonBody, Problem, Query};

/// Entries of one request.
const ENTRIES_MAX: usize = 100;
/// Entries of a page without `limit`.
const PAGE: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Page {
    partition: Option<u16>,
    after: Option<String>,
    limit: Option<usize>,
}

impl Page {
    /// The partition, and the entry after which the page begins.
    fn begin(&self) -> Result<(u16, EntryId), Problem> {
        let Some(after) = &self.after else { return Ok((self.partition.unwrap_or(0), EntryId::MIN)) };
        let form = "`after` has the form PARTITION:ID, for example 0:1700000000000-0: use `next` of the page before.";
        let LetterId { partition, id } = after.parse().map_err(|_| invalid("after", form))?;
        match self.partition {
            Some(wanted) if wanted != partition => {
                let detail =
                    format!("`after` is in partition {partition}, and `partition` is {wanted}: omit one of them.");
                Err(invalid("after", detail))
            }
            _ => Ok((partition, id)),
        }
    }
}

/// A page of the entries of a partition.
#[derive(Serialize, ToSchema)]
#[schema(as = EntryPage)]
pub(crate) struct Entries {
    entries: Vec<EntryView>,
    /// Pass it on as `after`; absent: there are no more.
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct EntryView {
    /// `PARTITION:ID`.
    id: String,
    /// When it was appended, in ms since 1970.
    appended_at: Wide,
    key: String,
    /// The only group that gets it, if a dead letter was replayed.
    only_for: Option<String>,
    #[serde(flatten)]
    body: Body,
    /// The record cannot be decoded.
    is_unreadable: bool,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/streams/{stream}/entries", tag = "streams", summary = "Entries of a partition, oldest first",
    operation_id = "list_entries",
    extensions(("x-refused-by-state" = json!(true))),
    params(
        ("partition" = Option<u16>, Query, maximum = 65535, description = "Counted from 0; default: that of `after`, or 0"),
        ("after" = Option<String>, Query, pattern = "^[0-9]{1,4}:[0-9]{1,15}-[0-9]{1,15}$", description = "`next` of the page before, in the same partition"),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 500, description = "Default: 50"),
    ),
    responses((status = 200, description = "Done", body = Entries), ReadProblems)
)]
pub(crate) async fn list(at: OnStream, Query(page): Query<Page>) -> Result<Json<Entries>, Problem> {
    let stream = at.stream().await?;
    let limit = page.limit.unwrap_or(PAGE);
    let (partition, after) = page.begin()?;
    let entries = stream.peek(partition, after, limit).await.map_err(stream_problem)?;
    let next = entries.last().filter(|_| entries.len() == limit);
    let next = next.map(|entry| LetterId { partition, id: entry.id }.to_string());
    let view = |entry: &Peeked| EntryView {
        id: LetterId { partition, id: entry.id }.to_string(),
        appended_at: Wide(entry.id.ms),
        key: key(&at.visitor, &entry.key),
        only_for: entry.only.clone(),
        body: entry
            .value
            .as_ref()
            .map(|value| Body::seen_by(&at.app, &at.visitor, Origin::Stream(&at.names.stream), value))
            .unwrap_or_default(),
        is_unreadable: entry.value.is_none(),
    };
    Ok(Json(Entries { entries: entries.iter().map(view).collect(), next }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEntries)]
pub(crate) struct New {
    #[schema(min_items = 1, max_items = 100)]
    entries: Vec<NewOne>,
}

/// A new entry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEntry)]
struct NewOne {
    #[schema(schema_with = entry_key)]
    key: String,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<serde_json::Value>)]
    body: Option<Box<RawValue>>,
    #[schema(schema_with = base64)]
    body_base64: Option<String>,
}

/// Where each entry is, in order.
#[derive(Serialize, ToSchema)]
#[schema(as = AppendedEntries)]
pub(crate) struct Appended {
    entries: Vec<One>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AppendedEntry)]
struct One {
    partition: u16,
    /// `PARTITION:ID`.
    id: Option<String>,
    /// Whether this request appended it; `false`: an earlier one with its `Idempotency-Key` did.
    is_new: bool,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/streams/{stream}/entries", tag = "programs", summary = "Append 1 to 100 entries",
    operation_id = "append_entries",
    extensions(("x-refused-by-state" = json!(true))),
    params(("Idempotency-Key" = Option<String>, Header, pattern = "^[!-~]{1,256}$", description = "The same for a repeat, which then appends nothing twice")),
    request_body = New,
    responses((status = 200, description = "Done", body = Appended), ActProblems)
)]
pub(crate) async fn append(
    at: OnStream,
    headers: HeaderMap,
    JsonBody(New { entries }): JsonBody<New>,
) -> Result<Json<Appended>, Problem> {
    at.visitor.check(Action::Append, &at.names.stream)?;
    if !(1..=ENTRIES_MAX).contains(&entries.len()) {
        let detail = format!("Send 1 to {ENTRIES_MAX} entries in a request.");
        return Err(invalid("entries", detail));
    }
    let stream = at.stream().await?;
    let once = idempotency_name(&at.visitor, &headers)?;
    let checked = |new: NewOne| {
        let value = sent(new.body.as_deref(), new.body_base64.as_deref(), stream.codec())?;
        small("key", new.key.len(), KEY_BYTES_MAX)?;
        let record = Record { codec: stream.codec(), body: value.clone(), ..Record::default() };
        small("body", record.encode().len(), RECORD_BYTES_MAX)?;
        Ok((new.key, value))
    };
    let entries: Vec<(String, Bytes)> = entries.into_iter().map(checked).collect::<Result<_, Problem>>()?;
    let all = entries.len();
    let mut appended = Vec::with_capacity(all);
    // One after the other: the entries of a key are in the order of the request.
    for (place, (key, value)) in entries.into_iter().enumerate() {
        let once = once.as_ref().map(|once| format!("{once}/{place}"));
        let entry = stream.append(key.as_bytes(), value, once.as_deref()).await;
        let entry = entry.map_err(|error| partly(place, all, once.is_some(), error))?;
        let id = entry.id.map(|id| LetterId { partition: entry.partition, id }.to_string());
        appended.push(One { partition: entry.partition, id, is_new: entry.is_new });
    }
    Ok(Json(Appended { entries: appended }))
}

/// Before anything is appended: a repeat of a request with an entry that is too large never succeeds.
fn small(field: &str, bytes: usize, limit: usize) -> Result<(), Problem> {
    if bytes <= limit {
        return Ok(());
    }
    let detail = format!("`{field}` of an entry has {bytes} bytes; the limit is {limit}. Nothing was appended.");
    Err(invalid(field, detail))
}

/// The problem of a request whose first `appended` of `all` entries are in the stream.
fn partly(appended: usize, all: usize, is_named: bool, error: StreamError) -> Problem {
    let is_unknown = error.outcome_unknown();
    let problem = stream_problem(error);
    if is_named && appended == 0 {
        return problem;
    }
    let detail = problem.detail();
    if is_named {
        return Problem::new(
            PARTIAL,
            format!("{appended} of {all} entries were appended. {detail} Send the same request again."),
        );
    }
    let number = appended + 1;
    match (appended, is_unknown) {
        (0, false) => problem,
        (0, true) => Problem::new(
            problem.kind(),
            format!(
                "{detail} The first entry may have been appended, the others were not. Read the entries of its key before you send it again: \
                 without `Idempotency-Key` a repeated request may append it again."
            ),
        ),
        (_, false) => Problem::new(
            PARTLY_APPENDED,
            format!(
                "The first {appended} of {all} entries were appended. {detail} Send the entries from number {number} on; a repeat of the whole request appends the first {appended} again."
            ),
        ),
        (_, true) => Problem::new(
            PARTLY_APPENDED,
            format!(
                "The first {appended} of {all} entries were appended, and entry number {number} may have been. {detail} Send the entries after it; a repeat of the whole request appends the first ones again."
            ),
        ),
    }
}
