//! Spans, and the trace contexts (W3C `traceparent`) that connect them across outbox rows, jobs and processes.
//!
//! Without the feature `otel` the spans serve the log only: no context is read, and none is continued.

#[cfg(feature = "sql")]
use crate::sql::{WorkId, database::Kind};
#[cfg(feature = "otel")]
use opentelemetry::trace::{SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId, TraceState};
#[cfg(feature = "otel")]
use opentelemetry::{Context, KeyValue};
use tracing::Span;
#[cfg(feature = "otel")]
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// `messaging.system` of the spans of jobs and messages.
#[cfg(feature = "sql")]
const SYSTEM: &str = "evenkeel";

/// The table of the outbox, as the destination of its spans.
#[cfg(feature = "sql")]
const OUTBOX: &str = "evenkeel_outbox";

/// The trace context of `span`; `None` if the span is not exported.
#[cfg(feature = "otel")]
pub(crate) fn context_of(span: &Span) -> Option<String> {
    let context = span.context();
    let otel = context.span();
    let at = otel.span_context();
    let flags = at.trace_flags().to_u8();
    at.is_valid().then(|| format!("00-{}-{}-{flags:02x}", at.trace_id(), at.span_id()))
}

/// The trace context of `span`; `None` without the feature `otel`.
#[cfg(not(feature = "otel"))]
pub(crate) fn context_of(_: &Span) -> Option<String> {
    None
}

/// Makes `span`, which has not been entered yet, a child of the span with this context. An invalid context is ignored.
#[cfg(feature = "otel")]
pub(crate) fn continue_from(span: &Span, traceparent: Option<&str>) {
    if let Some(parent) = traceparent.and_then(parse) {
        // Fails only if the span is not exported.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}

/// Without the feature `otel` no span is exported.
#[cfg(all(feature = "sql", not(feature = "otel")))]
pub(crate) fn continue_from(_: &Span, _: Option<&str>) {}

/// Reads a `traceparent` of any version: the fields of version 00 come first in all of them.
#[cfg(feature = "otel")]
fn parse(traceparent: &str) -> Option<SpanContext> {
    let mut fields = traceparent.split('-');
    let (_version, trace, span, flags) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    if (trace.len(), span.len(), flags.len()) != (32, 16, 2) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

/// Marks `span` as failed.
#[cfg(feature = "otel")]
pub(crate) fn failed(span: &Span, error: &impl std::fmt::Display) {
    span.set_status(Status::error(error.to_string()));
}

/// Without the feature `otel` no span is exported.
#[cfg(not(feature = "otel"))]
pub(crate) fn failed(_: &Span, _: &impl std::fmt::Display) {}

/// The span of a transaction, from its begin to the end of its commit or rollback.
#[cfg(feature = "sql")]
pub(crate) fn transaction(kind: Kind, work: WorkId) -> Span {
    let system = match kind {
        Kind::MySql => "mysql",
        Kind::Postgres => "postgresql",
        Kind::Sqlite => "sqlite",
    };
    tracing::debug_span!(
        "transaction",
        otel.kind = "client",
        db.system.name = system,
        db.operation.name = "transaction",
        evenkeel.work = %work
    )
}

/// The span in which the effects of a unit of work are carried out: right after the commit (`send`), or by a relay (`process`).
#[cfg(feature = "sql")]
pub(crate) fn outbox(operation: OutboxOperation, work: WorkId, traceparent: Option<&str>) -> Span {
    let (name, kind, operation) = match operation {
        OutboxOperation::Send => ("send evenkeel_outbox", "producer", "send"),
        OutboxOperation::Process => ("process evenkeel_outbox", "consumer", "process"),
    };
    // The transaction's span has ended: only its context is continued.
    let span = tracing::debug_span!(
        parent: None,
        "outbox",
        otel.name = name,
        otel.kind = kind,
        messaging.system = SYSTEM,
        messaging.destination.name = OUTBOX,
        messaging.operation.name = operation,
        messaging.operation.type = operation,
        messaging.message.id = %work
    );
    continue_from(&span, traceparent);
    span
}

/// Who carries out the effects of a unit of work.
#[cfg(feature = "sql")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutboxOperation {
    /// The process that committed it.
    Send,
    /// A relay.
    Process,
}

/// The span of one invalidation of a unit of work.
#[cfg(all(feature = "sql", feature = "cache"))]
pub(crate) fn invalidation(cache: &str) -> Span {
    tracing::debug_span!(
        "invalidate",
        otel.kind = "client",
        db.system.name = "redis",
        db.operation.name = "invalidate",
        evenkeel.cache = cache
    )
}

/// The span in which the jobs of a unit of work are put into the store.
#[cfg(all(feature = "sql", feature = "queue"))]
pub(crate) fn enqueue(topic: &str, count: usize) -> Span {
    tracing::debug_span!(
        "enqueue",
        otel.kind = "producer",
        messaging.system = SYSTEM,
        messaging.destination.name = topic,
        messaging.operation.name = "enqueue",
        messaging.operation.type = "send",
        messaging.batch.message_count = count
    )
}

/// Describes the span of an attempt of a job, and makes it a child of the span that enqueued the job.
#[cfg(all(feature = "queue", feature = "otel"))]
pub(crate) fn describe_attempt(span: &Span, topic: &str, id: &str, traceparent: Option<&str>) {
    span.record("otel.kind", "consumer");
    continue_from(span, traceparent);
    let context = span.context();
    let otel = context.span();
    if !otel.is_recording() {
        return;
    }
    otel.update_name(format!("process {topic}"));
    otel.set_attribute(KeyValue::new("messaging.system", "evenkeel"));
    otel.set_attribute(KeyValue::new("messaging.destination.name", topic.to_owned()));
    otel.set_attribute(KeyValue::new("messaging.operation.name", "process"));
    otel.set_attribute(KeyValue::new("messaging.operation.type", "process"));
    otel.set_attribute(KeyValue::new("messaging.message.id", id.to_owned()));
}

#[cfg(all(test, feature = "otel"))]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::parse;

    #[test]
    fn traceparent_is_parsed_and_malformed_ones_are_ignored() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = parse(good).unwrap();
        assert_eq!(context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.span_id().to_string(), "b7ad6b7169203331");
        assert!(context.is_sampled() && context.is_remote());
        assert!(parse(&format!("{good}-of-a-later-version")).is_some());
        let zero = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for bad in
            ["", "00", "00-1-2-03", zero, "00-zz-zz-zz", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01"]
        {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
