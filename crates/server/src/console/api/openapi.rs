//! The OpenAPI document, generated from the handlers.

use super::limits::exactly_one;
use super::{caches, jobs, locks, operations, processes, streams, topics, work};
use crate::kind::{
    CHANGED_MEANWHILE, FORBIDDEN, GROUP_IN_USE, NEEDS_DATABASE, NO_AUDIT, NOT_CONFIRMED, NOT_OUR_PAGE, PARTIAL,
    PARTLY_APPENDED, ROWS_DECIDE, STALE_CALL, TOO_MANY, UNAUTHORIZED, UNKNOWN_GROUP, UNKNOWN_JOB, UNKNOWN_OPERATION,
    UNKNOWN_SOURCE, UNKNOWN_STREAM, UNKNOWN_TOPIC,
};
use axum::Json;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Openapi, RefOr, Required};
use utoipa::{Modify, OpenApi};
use web::{FieldError, Kind, Problem, problems};

/// The parts of the document that do not come from a handler.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Evenkeel",
        description = "Queues, streams, locks and caches on Redis, for programs in any language. Every error is a problem document (RFC 9457) \
                       with an `outcome`. Numbers of 64 bits are strings. A body has at most 8 MiB. An unknown field of a request is an \
                       error; responses may gain fields. An operation with `x-refused-by-state` may answer 422 to a request that this \
                       document allows: `confirm` is not the name in the path, `until` is not in the future or more than a hundred years \
                       away, one of two fields excludes the other, an `Idempotency-Key` was sent with another request, the topic or stream encodes bodies in another \
                       way, or the stream has fewer partitions."
    ),
    tags(
        (name = "topics", description = "Sources and topics: figures, pause, resume"),
        (name = "jobs", description = "Read and change jobs"),
        (name = "dead letters", description = "Redrive and delete dead letters"),
        (name = "streams", description = "Streams, their groups and dead letters"),
        (name = "locks", description = "Inspect and break locks"),
        (name = "processes", description = "The processes that report: what they run and hold"),
        (name = "programs", description = "Enqueue, append, work, lock, invalidate: for API keys"),
    ),
    paths(
        topics::sources, topics::overview, topics::list, topics::create, topics::show, topics::pause, topics::resume, jobs::list, jobs::show,
        jobs::body, jobs::change::run, jobs::change::reschedule, jobs::change::revoke, jobs::change::edit, jobs::dead::groups, jobs::dead::redrive, jobs::dead::delete,
        jobs::dead::redrive_one, jobs::dead::delete_one, jobs::enqueue::enqueue, work::work, work::heartbeat, locks::acquire, locks::renew,
        locks::release, locks::show, locks::break_lock, caches::invalidate, streams::list, streams::create, streams::show, streams::entries::list, streams::entries::append,
        streams::change::pause, streams::change::resume, streams::change::seek, streams::change::unregister, streams::dead::list, streams::dead::replay,
        streams::dead::delete, operations::show, operations::stop, processes::list, show
    ),
    components(schemas(Problem, FieldError)),
    security(("token" = [])),
    modifiers(&Additions)
)]
struct Document;

/// The requests of which exactly one of two fields is there.
const EITHER: [(&str, [&str; 2]); 4] = [
    ("New", ["body", "body_base64"]),
    ("NewEntry", ["body", "body_base64"]),
    ("Edit", ["body", "body_base64"]),
    ("Due", ["at", "delay_ms"]),
];

/// The parameters in paths: what they are, and their pattern.
const IN_PATHS: [(&str, &str, Option<&str>); 6] = [
    ("source", "`default`: `GET /api/v1/sources` lists the sources", None),
    ("topic", "Name of the topic", None),
    ("stream", "Name of the stream", None),
    ("group", "Name of the group", Some("^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")),
    ("cache", "Name of the cache", Some("^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$")),
    ("id", "Of the job or of the operation, as lists and answers have it", None),
];

/// What the handlers and the derived schemas lack: what the parameters in paths are, which fields exclude each other, the field that the API adds
/// to problems, and how a program shows its token.
struct Additions;

impl Modify for Additions {
    fn modify(&self, document: &mut Openapi) {
        for (path, item) in &mut document.paths.paths {
            let in_path = IN_PATHS.iter().filter(|(name, ..)| path.contains(&format!("{{{name}}}")));
            let in_path: Vec<Parameter> = in_path.map(parameter).collect();
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                let further = operation.parameters.take().unwrap_or_default();
                let all: Vec<RefOr<Parameter>> = in_path.iter().cloned().map(RefOr::T).chain(further).collect();
                operation.parameters = Some(all).filter(|all| !all.is_empty());
            }
        }
        let Some(components) = &mut document.components else { return };
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        for (request, fields) in EITHER {
            if let Some(schema) = components.schemas.remove(request) {
                components.schemas.insert(request.to_owned(), exactly_one(schema, fields));
            }
        }
        if let Some(RefOr::T(Schema::Object(problem))) = components.schemas.get_mut("Problem") {
            let outcome = ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some("What has become of the request"))
                .enum_values(Some(["none", "partial", "unknown"]));
            problem.properties.insert("outcome".to_owned(), RefOr::T(outcome.build().into()));
        }
    }
}

/// A parameter in a path.
fn parameter((name, description, pattern): &(&str, &str, Option<&str>)) -> Parameter {
    let schema = ObjectBuilder::new().schema_type(Type::String).pattern(*pattern);
    let parameter = ParameterBuilder::new().name(*name).parameter_in(ParameterIn::Path).required(Required::True);
    parameter.description(Some(*description)).schema(Some(schema)).build()
}

/// This document.
#[utoipa::path(get, path = "/api/v1/openapi.json", operation_id = "show_document", tag = "topics", summary = "This document",
    responses((status = 200, description = "Done", body = serde_json::Value)))]
pub(super) async fn show() -> Json<Openapi> {
    Json(Document::openapi())
}

problems! {
    /// Problems of every `GET`.
    ReadProblems: UNAUTHORIZED, FORBIDDEN, NOT_OUR_PAGE, UNKNOWN_SOURCE, UNKNOWN_TOPIC, UNKNOWN_JOB, UNKNOWN_OPERATION, UNKNOWN_STREAM, UNKNOWN_GROUP, Kind::INVALID_INPUT, TOO_MANY, NEEDS_DATABASE, Kind::UNAVAILABLE;
    /// Problems of every `POST`.
    ActProblems: Kind::BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_OUR_PAGE, UNKNOWN_SOURCE, UNKNOWN_TOPIC, UNKNOWN_JOB, UNKNOWN_OPERATION, UNKNOWN_STREAM, UNKNOWN_GROUP, CHANGED_MEANWHILE, GROUP_IN_USE, STALE_CALL, NEEDS_DATABASE, ROWS_DECIDE, Kind::BODY_TOO_LARGE, Kind::UNSUPPORTED_MEDIA_TYPE, Kind::INVALID_INPUT, NOT_CONFIRMED, TOO_MANY, Kind::UNAVAILABLE, NO_AUDIT, PARTIAL, PARTLY_APPENDED, Kind::OUTCOME_UNKNOWN;
}
