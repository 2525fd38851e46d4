//! Extractors that refuse with a [`Problem`]: the same reading as axum's own, with the field named when one is at fault.

use crate::{FieldError, Kind, Problem};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use url::form_urlencoded;

/// What a service answers where it has understood its input and refuses it; its routers' state implements this.
pub trait Refuses: Send + Sync {
    /// The kind of problem.
    const INVALID: Kind;
}

/// A JSON body. Wrong content type 415, too large 413, not JSON 400, not the expected shape: [`Refuses::INVALID`].
pub struct JsonBody<T>(pub T);

impl<S: Refuses, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !has_media_type(request.headers(), is_json) {
            return Err(Problem::new(
                Kind::UNSUPPORTED_MEDIA_TYPE,
                "Send the body as `Content-Type: application/json`.",
            ));
        }
        let body = Bytes::from_request(request, state).await.map_err(|rejection| unread_body(&rejection))?;
        parse_json(&body, S::INVALID).map(JsonBody)
    }
}

impl<S: Refuses, T: DeserializeOwned> OptionalFromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, Problem> {
        <Self as FromRequest<S>>::from_request(request, state).await.map(Some)
    }
}

/// The query string. An unknown, repeated or unreadable parameter: [`Refuses::INVALID`].
pub struct Query<T>(pub T);

impl<S: Refuses, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_urlencoded(parts.uri.query().unwrap_or_default().as_bytes(), S::INVALID).map(Query)
    }
}

/// The body of an HTML form. Wrong content type 415, too large 413, not the expected fields: [`Refuses::INVALID`].
pub struct Form<T>(pub T);

impl<S: Refuses, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !has_media_type(request.headers(), |media_type| media_type == "application/x-www-form-urlencoded") {
            return Err(Problem::new(
                Kind::UNSUPPORTED_MEDIA_TYPE,
                "Send the form as `application/x-www-form-urlencoded`.",
            ));
        }
        let body = Bytes::from_request(request, state).await.map_err(|rejection| unread_body(&rejection))?;
        parse_urlencoded(&body, S::INVALID).map(Form)
    }
}

/// Tells why a body could not be read: too large, or the connection broke while it came.
fn unread_body(rejection: &BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::of_status(StatusCode::PAYLOAD_TOO_LARGE),
        _ => Problem::new(Kind::BAD_REQUEST, "The connection ended before the whole body had arrived."),
    }
}

/// Whether the content type, without its parameters, is an accepted one.
fn has_media_type(headers: &HeaderMap, accepted: impl FnOnce(&str) -> bool) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim();
    accepted(&essence.to_ascii_lowercase())
}

/// `application/json`, and its dialects such as `application/merge-patch+json`.
fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

fn parse_json<T: DeserializeOwned>(body: &[u8], invalid: Kind) -> Result<T, Problem> {
    let is_object = body.trim_ascii_start().starts_with(b"{");
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        match error.inner().classify() {
            Category::Data if !is_object => not_an_object(invalid),
            Category::Data => refused_field(invalid, &path, &error.into_inner().to_string()),
            Category::Io | Category::Syntax | Category::Eof => not_json(&error.into_inner()),
        }
    })?;
    deserializer.end().map_err(|error| not_json(&error))?;
    if is_object { Ok(value) } else { Err(not_an_object(invalid)) }
}

/// serde also takes a struct's fields as a list without names; nobody should get used to that.
fn not_an_object(invalid: Kind) -> Problem {
    Problem::new(invalid, "The body must be a JSON object, as in {\"name\": ..}.")
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::new(Kind::BAD_REQUEST, format!("The body is not valid JSON: {error}."))
}

fn parse_urlencoded<T: DeserializeOwned>(bytes: &[u8], invalid: Kind) -> Result<T, Problem> {
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(bytes));
    serde_path_to_error::deserialize(pairs).map_err(|error| {
        let path = error.path().to_string();
        refused_field(invalid, &path, &error.into_inner().to_string())
    })
}

/// A field whose value, or whose very presence, does not fit. serde names a missing or unknown field only in its message,
/// between backquotes.
fn refused_field(invalid: Kind, path: &str, message: &str) -> Problem {
    let named = message.split('`').nth(1).filter(|_| message.contains("field `"));
    let field = match named {
        None => path.to_owned(),
        Some(name) if path == "." => name.to_owned(),
        Some(name) if path.ends_with(name) => path.to_owned(),
        Some(name) => format!("{path}.{name}"),
    };
    let detail = match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            format!("`{field}` must be a whole number.")
        }
        "number too large to fit in target type" => format!("`{field}` is too large."),
        message => format!("{}.", capitalized(without_position(message))),
    };
    Problem::of_fields(invalid, vec![FieldError::new(field, detail)])
}

/// serde_json ends its messages with " at line 1 column 9", which helps nobody once the field is named.
fn without_position(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

fn capitalized(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + characters.as_str())
}
