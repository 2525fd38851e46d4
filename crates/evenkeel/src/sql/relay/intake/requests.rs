//! The JSON of a row in `evenkeel_outbox_json`: a list of effects, each an object with one field.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// More effects than a transaction of a program has.
const EFFECTS_MAX: usize = 1_000;

/// A key or an id: text, or a whole number, which is its digits.
#[derive(Debug)]
pub(super) struct Name(
    #[cfg_attr(
        not(any(feature = "cache", feature = "queue")),
        expect(dead_code, reason = "read for caches and queues; without them it is checked only")
    )]
    pub(super) String,
);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(from)?.get();
        if written.starts_with('"') {
            return serde_json::from_str(written).map(Self).map_err(D::Error::custom);
        }
        // As it is written: a larger number than that of a `u64` keeps its digits.
        let digits = written.strip_prefix('-').unwrap_or(written);
        let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() && written != "-0";
        if is_whole {
            return Ok(Self(written.to_owned()));
        }
        Err(D::Error::custom(format!("a key or an id is text or a whole number, not {}", shortened(written))))
    }
}

fn shortened(json: &str) -> String {
    const CHARS_MAX: usize = 40;
    json.chars().take(CHARS_MAX).collect()
}

/// One effect as another program describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EffectRequest<'a> {
    Invalidate(Invalidate),
    #[serde(borrow)]
    Enqueue(Enqueue<'a>),
    Revoke(Revoke),
    #[serde(borrow)]
    Publish(Publish<'a>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "cache"), expect(dead_code, reason = "only its JSON is checked"))]
pub(super) struct Invalidate {
    pub(super) cache: String,
    pub(super) key: Name,
    /// The new version of the row.
    pub(super) version: Option<u64>,
    /// The older value is not served again, not even as a stale one.
    #[serde(default)]
    pub(super) purge: bool,
    /// How long the older value may still be served as a stale one.
    #[serde(default)]
    pub(super) retain_ms: u64,
    /// How long a replica may lag behind.
    #[serde(default)]
    pub(super) lag_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "queue"), expect(dead_code, reason = "only its JSON is checked"))]
pub(super) struct Enqueue<'a> {
    pub(super) topic: String,
    /// The newest row with this id wins, unless one of them waited for its queue.
    pub(super) id: Option<Name>,
    /// Counts from the row's `created_at`.
    pub(super) delay_ms: Option<u64>,
    /// In ms since 1970.
    pub(super) due_at: Option<u64>,
    pub(super) retries: Option<u16>,
    #[serde(borrow)]
    pub(super) body: Option<&'a RawValue>,
    pub(super) body_base64: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "queue"), expect(dead_code, reason = "only its JSON is checked"))]
pub(super) struct Revoke {
    pub(super) topic: String,
    pub(super) id: Name,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Publish<'a> {
    pub(super) topic: String,
    #[serde(borrow)]
    pub(super) payload: Option<&'a RawValue>,
    pub(super) payload_base64: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
}

/// Parses the effects of a row. The error says which effect is wrong, and how.
pub(super) fn parse(effects: &str) -> Result<Vec<EffectRequest<'_>>, String> {
    let shown: Vec<&RawValue> = serde_json::from_str(effects).map_err(|error| {
        format!("`effects` must be a JSON array of objects such as {{\"invalidate\": {{..}}}}: {error}")
    })?;
    if shown.len() > EFFECTS_MAX {
        return Err(format!("{} effects in one row, the limit is {EFFECTS_MAX}; insert several rows", shown.len()));
    }
    let each = shown.iter().enumerate().map(|(index, effect)| {
        serde_json::from_str(effect.get()).map_err(|error| format!("effect {}: {error}", index + 1))
    });
    each.collect()
}

/// The bytes of a body or payload, which is given as JSON or in Base64. JSON stays as it is written, byte for byte.
pub(super) fn content(json: Option<&RawValue>, base64: Option<&str>, name: &str) -> Result<Bytes, String> {
    match (json, base64) {
        (Some(json), None) => {
            let json = json.get();
            // JSON that its reader could not decode: a number beyond the range of a double, half a surrogate, deep nesting.
            serde_json::from_str::<serde_json::Value>(json).map_err(|error| format!("`{name}`: {error}"))?;
            Ok(Bytes::copy_from_slice(json.as_bytes()))
        }
        (None, Some(text)) => {
            let bytes =
                BASE64_STANDARD.decode(text).map_err(|error| format!("`{name}_base64` is not Base64: {error}"))?;
            Ok(bytes.into())
        }
        _ => Err(format!("give either `{name}` or `{name}_base64`")),
    }
}

impl EffectRequest<'_> {
    /// The topic of the queue whose entry in the register it needs.
    pub(super) fn queue(&self) -> Option<&str> {
        match self {
            Self::Enqueue(job) => Some(&job.topic),
            Self::Revoke(job) => Some(&job.topic),
            Self::Invalidate(_) | Self::Publish(_) => None,
        }
    }

    /// The name of its kind, for an error.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Invalidate(_) => "invalidate",
            Self::Enqueue(_) => "enqueue",
            Self::Revoke(_) => "revoke",
            Self::Publish(_) => "publish",
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;

    // shows: hazard BW6
    #[test]
    fn name_is_text_or_a_whole_number() {
        let name = |json: &str| serde_json::from_str::<Name>(json).map(|name| name.0).ok();
        let same = |json: &str| name(json).as_deref() == Some(json);
        assert!(same("0") && same("42") && same("-7") && same("340282366920938463463374607431768211456"));
        assert_eq!(name(r#""a\\b,\u00fc""#).unwrap(), "a\\b,\u{fc}");
        for refused in ["1.5", "1e3", "42.0", "-0", "true", "null", "[1]", r#"{"a": 1}"#, r#""\ud800""#] {
            assert_eq!(name(refused), None, "{refused}");
        }
    }

    /// The reader of such a body failed, long after it had been accepted.
    // shows: hazard BW6
    #[test]
    fn content_that_no_reader_decodes_is_rejected() {
        let of = |json: &str| content(Some(serde_json::from_str(json).unwrap()), None, "body");
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for refused in ["1e999", "[-1e999]", r#""\ud800""#, r#"{"a": "\udc00"}"#, &deep] {
            assert!(of(refused).is_err_and(|error| error.starts_with("`body`: ")), "{refused}");
        }
        for accepted in ["1e300", "12345678901234567890123", r#""\ud83d\ude00""#, r#" {"a":  [1.10]}"#] {
            assert_eq!(of(accepted).unwrap(), accepted.trim().as_bytes());
        }
    }
}
