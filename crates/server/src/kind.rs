//! The problem types of the console, in addition to the common ones.

use std::fmt::Display;
use std::ops::RangeInclusive;
use web::{Kind, Problem};

web::kinds! {
    list OWN = [Kind::INVALID_INPUT];
    /// The request needs a login.
    pub(crate) UNAUTHORIZED = UNAUTHORIZED, "unauthorized", "Login required",
        "The console needs a token. In a browser open `/login`; a program sends `Authorization: Bearer TOKEN`.";
    /// The visitor's role does not permit the action.
    pub(crate) FORBIDDEN = FORBIDDEN, "forbidden", "Not permitted",
        "Your role does not permit this. `detail` names the role that does. Nothing was changed.";
    /// A form of another site, or one without its CSRF token.
    pub(crate) NOT_OUR_PAGE = FORBIDDEN, "not-our-page", "Not sent by this console",
        "The request was not sent by a page of this console. `detail` names the check that failed. Nothing was changed.";
    /// A request that went through a proxy reached a console without a login.
    pub(crate) FORWARDED = FORBIDDEN, "forwarded", "Forwarded request",
        "A proxy forwarded this request, and this console has no login: everybody who reaches the proxy could operate it. Start the console with a token file and `public_url`.";
    /// Too many failed logins.
    pub(crate) TOO_MANY = TOO_MANY_REQUESTS, "too-many-requests", "Too many requests",
        "There were too many failed logins or open streams. The header `Retry-After` says when to try again.";
    /// No program has opened a queue of this name.
    pub(crate) UNKNOWN_TOPIC = NOT_FOUND, "unknown-topic", "Unknown topic",
        "No program has opened a queue of this name under the prefix of this source.";
    /// No program has opened a stream of this name.
    pub(crate) UNKNOWN_STREAM = NOT_FOUND, "unknown-stream", "Unknown stream",
        "No program has opened a stream of this name under the prefix of this source.";
    /// The stream has no such group.
    pub(crate) UNKNOWN_GROUP = NOT_FOUND, "unknown-group", "Unknown group",
        "No consumer of a group of this name has run, or Redis has lost the group and no consumer has created it again.";
    /// The dead letter is unknown.
    pub(crate) UNKNOWN_LETTER = NOT_FOUND, "unknown-letter", "Unknown dead letter",
        "The group has no dead letter of this id: it was replayed or deleted.";
    /// The job is unknown.
    pub(crate) UNKNOWN_JOB = NOT_FOUND, "unknown-job", "Unknown job",
        "The job was never enqueued here, or it has ended and its completion record has expired.";
    /// The operation is unknown.
    pub(crate) UNKNOWN_OPERATION = NOT_FOUND, "unknown-operation", "Unknown operation",
        "This console has not begun it since it was started, or has forgotten it. The dead letters of the topic say what is left.";
    /// The jobs of the topic are rows in a database that the source does not have.
    pub(crate) NEEDS_DATABASE = CONFLICT, "needs-database", "Database required",
        "Rows in a SQL database decide about the jobs of this topic. Add `database` to the source. Nothing was changed.";
    /// The typed name is not the name of what would be destroyed.
    pub(crate) NOT_CONFIRMED = UNPROCESSABLE_ENTITY, "not-confirmed", "Not confirmed",
        "What destroys something needs its name, typed exactly. Nothing was changed.";
    /// The thing is no longer in the state in which it was shown.
    pub(crate) CHANGED_MEANWHILE = CONFLICT, "changed-meanwhile", "Changed meanwhile",
        "It is no longer as it was shown. `detail` says what was found. Nothing was changed.";
    /// The audit log cannot be written.
    pub(crate) NO_AUDIT = SERVICE_UNAVAILABLE, "no-audit", "Audit log unavailable",
        "The audit log could not be written, so the action was refused. Nothing was changed.";
    /// The source of an API call is unknown.
    pub(crate) UNKNOWN_SOURCE = NOT_FOUND, "unknown-source", "Unknown source",
        "The console has no source of this name. `GET /api/v1/sources` lists them.";
    /// An action on several shards or jobs failed after a part of it.
    pub(crate) PARTIAL = SERVICE_UNAVAILABLE, "partly-done", "Partly done",
        "A part may have been done before an error. Send the same request again: it does the rest.";
    /// Entries were appended without a name before an error: the same request would append them again.
    pub(crate) PARTLY_APPENDED = SERVICE_UNAVAILABLE, "partly-appended", "Partly appended",
        "The first entries were appended before an error. The same request would append them again: send only those that `detail` names, or send requests with `Idempotency-Key`, which can be repeated.";
    /// Consumers of a group that is to be unregistered run.
    pub(crate) GROUP_IN_USE = CONFLICT, "group-in-use", "Group in use",
        "Consumers of the group run; one that starts registers its group again. Stop them first. Nothing was changed.";
    /// A later call of the worker was executed first.
    pub(crate) STALE_CALL = CONFLICT, "stale-call", "Later call executed",
        "A call of this worker with a higher sequence was executed before. A worker that starts draws a new random `worker`.";
    /// Workers over HTTP cannot work on the topic.
    pub(crate) ROWS_DECIDE = CONFLICT, "rows-decide", "Rows decide",
        "Rows in a SQL database decide about the jobs of this topic; only consumers of the library work on them. Nothing was changed.";
}

/// The problem of an invalid field of the request.
pub(crate) fn invalid(field: &str, detail: impl Into<String>) -> Problem {
    Problem::of_field(Kind::INVALID_INPUT, field, detail)
}

/// Refuses a value outside of `range`.
pub(crate) fn in_range<T: Copy + PartialOrd + Display>(
    field: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), Problem> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(invalid(field, format!("`{field}` must be from {} to {}.", range.start(), range.end())))
}

/// What has become of a request that ended with this problem, for the API and the audit log: `none` (nothing was changed), `partial` (a part was)
/// or `unknown`.
pub(crate) fn outcome(kind: Kind) -> &'static str {
    match kind {
        PARTIAL | PARTLY_APPENDED => "partial",
        Kind::OUTCOME_UNKNOWN | Kind::INTERNAL | Kind::REQUEST_TIMEOUT => "unknown",
        _ => "none",
    }
}
