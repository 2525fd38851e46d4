//! Extractors like axum's whose rejections are a [`Problem`] with the names of the invalid fields.

use crate::{FieldError, Kind, Problem, sentence};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;
use url::form_urlencoded;

/// A JSON body. Rejects another content type with 415, too large a body with 413, invalid JSON with 400, and unexpected fields with
/// [`Kind::INVALID_INPUT`].
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !has_media_type(request.headers(), is_json) {
            return Err(Problem::new(
                Kind::UNSUPPORTED_MEDIA_TYPE,
                "Send the body as `Content-Type: application/json`.",
            ));
        }
        let body = Bytes::from_request(request, state).await.map_err(|rejection| body_rejection(&rejection))?;
        parse_json(&body).map(JsonBody)
    }
}

/// The query string. Rejects unknown, repeated and invalid parameters with [`Kind::INVALID_INPUT`].
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_urlencoded(parts.uri.query().unwrap_or_default().as_bytes()).map(Query)
    }
}

/// The body of an HTML form. Rejects another content type with 415, too large a body with 413, and unexpected fields with
/// [`Kind::INVALID_INPUT`].
pub struct Form<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !has_media_type(request.headers(), |media_type| media_type == "application/x-www-form-urlencoded") {
            return Err(Problem::new(
                Kind::UNSUPPORTED_MEDIA_TYPE,
                "Send the form as `application/x-www-form-urlencoded`.",
            ));
        }
        let body = Bytes::from_request(request, state).await.map_err(|rejection| body_rejection(&rejection))?;
        parse_urlencoded(&body).map(Form)
    }
}

/// Why a body was not read: too large, or the connection closed early.
fn body_rejection(rejection: &BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::of_status(StatusCode::PAYLOAD_TOO_LARGE),
        _ => Problem::new(Kind::BAD_REQUEST, "The connection closed before the whole body arrived."),
    }
}

/// Whether the content type, without its parameters, is `accepted`.
fn has_media_type(headers: &HeaderMap, accepted: impl FnOnce(&str) -> bool) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim();
    accepted(&essence.to_ascii_lowercase())
}

/// `application/json` and types with the suffix `+json`, such as `application/merge-patch+json`.
fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let is_object = body.trim_ascii_start().starts_with(b"{");
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        match error.inner().classify() {
            Category::Data if !is_object => not_an_object(),
            Category::Data => invalid_field(&path, &error.into_inner().to_string()),
            Category::Io | Category::Syntax | Category::Eof => not_json(&error.into_inner()),
        }
    })?;
    deserializer.end().map_err(|error| not_json(&error))?;
    if is_object { Ok(value) } else { Err(not_an_object()) }
}

/// Reads a whole number, for `#[serde(deserialize_with = ..)]`. JSON Schema counts `629.0` as one, and languages whose numbers are floating
/// point write it so.
///
/// # Errors
/// The value is not a number of type `T`.
pub fn whole_number<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<T, D::Error> {
    let value = Value::deserialize(field)?;
    let text = value.to_string();
    let whole = text.strip_suffix(".0").and_then(|digits| digits.parse::<i64>().ok());
    T::deserialize(whole.map_or(value, Value::from)).map_err(D::Error::custom)
}

/// serde also reads a struct from an array of its fields; the API does not accept that form.
fn not_an_object() -> Problem {
    Problem::new(Kind::INVALID_INPUT, "The body must be a JSON object, as in {\"name\": ..}.")
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::new(Kind::BAD_REQUEST, format!("The body is not valid JSON: {error}."))
}

fn parse_urlencoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(bytes));
    serde_path_to_error::deserialize(pairs).map_err(|error| {
        let path = error.path().to_string();
        invalid_field(&path, &error.into_inner().to_string())
    })
}

/// A field that is unknown, missing or invalid. For the first two, serde names the field only in its message, between backquotes.
fn invalid_field(path: &str, message: &str) -> Problem {
    let named = message.split('`').nth(1).filter(|_| message.contains("field `"));
    let field = match named {
        None => path.to_owned(),
        Some(name) if path == "." => name.to_owned(),
        Some(name) if path.ends_with(name) => path.to_owned(),
        Some(name) => format!("{path}.{name}"),
    };
    let detail = explained(&field, without_position(message));
    Problem::of_fields(Kind::INVALID_INPUT, vec![FieldError::new(field, detail)])
}

/// serde's message in terms of the request rather than of Rust's types.
fn explained(field: &str, message: &str) -> String {
    if matches!(message, "invalid digit found in string" | "cannot parse integer from empty string") {
        return format!("`{field}` must be a whole number.");
    }
    if message == "number too large to fit in target type" {
        return format!("`{field}` is too large.");
    }
    let expected = message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    let type_name = expected.and_then(|(_, expected)| match expected {
        "i64" | "u64" | "i32" | "u32" | "u16" | "usize" => Some("a whole number"),
        "a string" => Some("a string"),
        "a boolean" => Some("true or false"),
        "a sequence" => Some("an array"),
        _ => None,
    });
    match type_name {
        Some(type_name) => format!("`{field}` must be {type_name}."),
        None => sentence(message),
    }
}

/// Removes serde_json's " at line 1 column 9": the field is already named.
fn without_position(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::{parse_json, whole_number};
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Sent {
        #[serde(deserialize_with = "whole_number")]
        ttl_ms: u32,
        #[serde(default, deserialize_with = "whole_number")]
        rate: Option<u16>,
    }

    fn read(body: &str) -> Result<(u32, Option<u16>), String> {
        let sent = parse_json::<Sent>(body.as_bytes());
        sent.map(|sent| (sent.ttl_ms, sent.rate)).map_err(|problem| problem.detail().to_owned())
    }

    /// Regression: `629.0`, which is an integer to JSON Schema, was refused.
    // shows: hazard PO12
    #[test]
    fn whole_number_may_be_written_as_floating_point() {
        assert_eq!(read(r#"{"ttl_ms": 629}"#), Ok((629, None)));
        assert_eq!(read(r#"{"ttl_ms": 629.0, "rate": 6.29e2}"#), Ok((629, Some(629))));
        assert_eq!(read(r#"{"ttl_ms": 1, "rate": null}"#), Ok((1, None)));
        for wrong in ["629.5", "\"629\"", "\"629.0\"", "null", "true"] {
            let body = format!("{{\"ttl_ms\": {wrong}}}");
            assert_eq!(read(&body), Err("`ttl_ms` must be a whole number.".to_owned()), "{wrong}");
        }
        for outside in ["-1", "-1.0", "4294967296.0", "1e300"] {
            assert!(read(&format!("{{\"ttl_ms\": {outside}}}")).is_err(), "{outside}");
        }
    }
}
