//! The spans of requests, with the names and attributes of OpenTelemetry's semantic conventions for HTTP servers.

use crate::{Consistency, ShortId};
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use opentelemetry::KeyValue;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TraceContextExt};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Continues the trace of the client, if it sent a `traceparent`, and describes the request.
pub(crate) fn describe_request(span: &Span, request: &Request, id: ShortId) {
    span.record("otel.kind", "server");
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
    if parent.span().span_context().is_valid() {
        // Fails only if the span is not exported.
        let _ = span.set_parent(parent);
    }
    let context = span.context();
    let otel = context.span();
    if !otel.is_recording() {
        return;
    }
    let method = request.method().as_str();
    match request.extensions().get::<MatchedPath>().map(MatchedPath::as_str) {
        Some(route) => {
            otel.update_name(format!("{method} {route}"));
            otel.set_attribute(KeyValue::new("http.route", route.to_owned()));
        }
        None => otel.update_name(method.to_owned()),
    }
    otel.set_attribute(KeyValue::new("http.request.method", method.to_owned()));
    otel.set_attribute(KeyValue::new("url.path", request.uri().path().to_owned()));
    otel.set_attribute(KeyValue::new("url.scheme", "http"));
    otel.set_attribute(KeyValue::new("http.request.header.x-short-id", id.to_string()));
}

/// Describes the response; one of class 5xx marks the span as failed.
pub(crate) fn describe_response(span: &Span, response: &Response) {
    let context = span.context();
    let otel = context.span();
    if !otel.is_recording() {
        return;
    }
    let status = response.status();
    otel.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    if let Some(consistency) = response.extensions().get::<Consistency>() {
        otel.set_attribute(KeyValue::new("http.response.header.x-consistency-state", consistency.as_str()));
    }
    if status.is_server_error() {
        otel.set_attribute(KeyValue::new("error.type", status.as_u16().to_string()));
        otel.set_status(Status::error(""));
    }
}
