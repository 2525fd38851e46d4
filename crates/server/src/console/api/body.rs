//! Bodies of jobs as they travel: JSON byte for byte, everything else as Base64.

use crate::console::app::App;
use crate::console::rights::Visitor;
use crate::console::security::redact::Origin;
use crate::kind::invalid;
use crate::output::JSON;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use web::Problem;

/// A body in a response.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct Body {
    /// JSON, byte for byte; for viewers only the allowed fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub(super) body: Option<Box<RawValue>>,
    /// A body that is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body_base64: Option<String>,
}

impl Body {
    /// The whole body.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok();
        match text.and_then(|text| RawValue::from_string(text.to_owned()).ok()) {
            Some(raw) => Self { body: Some(raw), body_base64: None },
            None => Self { body: None, body_base64: Some(STANDARD.encode(bytes)) },
        }
    }

    /// The body as this visitor may see it.
    pub(super) fn seen_by(app: &App, visitor: &Visitor, origin: Origin<'_>, bytes: &[u8]) -> Self {
        if visitor.sees_bodies() {
            return Self::of(bytes);
        }
        let shown: Value = app.security.redaction.body(origin, bytes);
        Self { body: RawValue::from_string(shown.to_string()).ok(), body_base64: None }
    }
}

/// Reads a field that is there. `null` is a body, not an absent one.
pub(super) fn given<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(field).map(Some)
}

/// The body of a request: exactly one of the two fields.
pub(super) fn sent(body: Option<&RawValue>, base64: Option<&str>, codec: u8) -> Result<Bytes, Problem> {
    match (body, base64) {
        (Some(body), None) if codec == JSON => {
            let text = body.get();
            // The request was valid JSON, in which half of a surrogate pair, for example, is not decoded.
            serde_json::from_str::<Value>(text)
                .map_err(|error| invalid("body", format!("No consumer could decode `body`: {error}.")))?;
            Ok(Bytes::copy_from_slice(text.as_bytes()))
        }
        (Some(_), None) => {
            Err(invalid("body", "The jobs of this topic are not JSON: send the encoded body as `body_base64`."))
        }
        (None, Some(text)) => {
            let bytes = STANDARD
                .decode(text)
                .map_err(|error| invalid("body_base64", format!("`body_base64` is not valid Base64: {error}.")))?;
            let is_json = codec != JSON || serde_json::from_slice::<Value>(&bytes).is_ok();
            if !is_json {
                let detail = "The jobs of this topic are JSON, and `body_base64` does not contain JSON.";
                return Err(invalid("body_base64", detail));
            }
            Ok(bytes.into())
        }
        (Some(_), Some(_)) | (None, None) => Err(invalid("body", "Send exactly one of `body` and `body_base64`.")),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn json_body_keeps_every_byte() {
        let text = "{ \"n\": 12345678901234567890, \"x\": 1.10 }";
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        assert_eq!(sent(Some(&raw), None, JSON).unwrap(), text.as_bytes());
        assert_eq!(serde_json::to_string(&Body::of(text.as_bytes())).unwrap(), format!("{{\"body\":{text}}}"));
    }

    /// `null` was an absent body, and refused.
    // shows: hazard CL14
    #[test]
    fn null_is_a_body() {
        #[derive(Deserialize)]
        struct Sent {
            #[serde(default, deserialize_with = "given")]
            body: Option<Box<RawValue>>,
        }
        let body = |text: &str| serde_json::from_str::<Sent>(text).unwrap().body;
        assert_eq!(body("{\"body\": null}").unwrap().get(), "null");
        assert!(body("{}").is_none());
    }

    // shows: hazard SF4
    #[test]
    fn body_that_no_consumer_could_decode_is_invalid() {
        for text in ["\"\\ud800\"", "1e999"] {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert!(sent(Some(&raw), None, JSON).is_err(), "{text}");
            assert!(sent(None, Some(&STANDARD.encode(text)), JSON).is_err(), "{text}");
        }
    }

    #[test]
    fn other_body_travels_as_base64() {
        let shown = serde_json::to_string(&Body::of(&[0, 255])).unwrap();
        assert_eq!(shown, "{\"body_base64\":\"AP8=\"}");
        assert_eq!(sent(None, Some("AP8="), 7).unwrap(), vec![0, 255]);
        assert!(sent(None, Some("AP8="), JSON).is_err(), "not JSON");
        assert!(sent(None, Some("?"), 7).is_err() && sent(None, None, JSON).is_err());
    }
}
