//! [`Redaction`]: what viewers see of bodies. An allow list: a field that the configuration does not name is hidden.

use serde_json::Value;
use std::collections::HashMap;

/// What stands in place of a hidden value.
pub(crate) const HIDDEN: &str = "[hidden]";

/// Where a body comes from. A stream may have the name of a topic, and other secrets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin<'a> {
    /// A job of this topic.
    Topic(&'a str),
    /// An entry or a dead letter of this stream.
    Stream(&'a str),
}

/// The paths that viewers see. A path is the names of nested fields with dots; an array is looked through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redaction {
    topics: HashMap<String, Vec<String>>,
    streams: HashMap<String, Vec<String>>,
}

impl Redaction {
    /// The allowed paths as pairs of a name and a path.
    pub(crate) fn new(topics: &[(String, String)], streams: &[(String, String)]) -> Self {
        Self { topics: by_name(topics), streams: by_name(streams) }
    }

    /// The body as a viewer sees it. A body that is not JSON is hidden as a whole.
    pub(crate) fn body(&self, origin: Origin<'_>, body: &[u8]) -> Value {
        let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return Value::String(HIDDEN.to_owned()) };
        let paths = match origin {
            Origin::Topic(name) => self.topics.get(name),
            Origin::Stream(name) => self.streams.get(name),
        };
        let allowed: Vec<&str> = paths.into_iter().flatten().map(String::as_str).collect();
        hide(&mut value, &allowed);
        value
    }
}

fn by_name(fields: &[(String, String)]) -> HashMap<String, Vec<String>> {
    let mut paths: HashMap<String, Vec<String>> = HashMap::new();
    fields.iter().for_each(|(name, path)| paths.entry(name.clone()).or_default().push(path.clone()));
    paths
}

/// Hides everything but `allowed`; the empty path is the value itself.
fn hide(value: &mut Value, allowed: &[&str]) {
    if allowed.contains(&"") {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let below: Vec<&str> = allowed.iter().filter_map(|path| below(path, name)).collect();
                hide(field, &below);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, allowed)),
        other => *other = Value::String(HIDDEN.to_owned()),
    }
}

/// The rest of `path` below the field `name`.
fn below<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('.') }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_allowed_paths_are_shown() {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect::<Vec<_>>()
        };
        let redaction =
            Redaction::new(&pairs(&[("mail", "user"), ("mail", "items.sku")]), &pairs(&[("orders", "state")]));
        let body =
            json!({ "user": { "id": 7 }, "card": "4111", "username": "ada", "items": [{ "sku": "a", "price": 3 }] });
        let shown = redaction.body(Origin::Topic("mail"), body.to_string().as_bytes());
        let expected = json!({ "user": { "id": 7 }, "card": HIDDEN, "username": HIDDEN, "items": [{ "sku": "a", "price": HIDDEN }] });
        assert_eq!(shown, expected);
        let other = redaction.body(Origin::Topic("other"), body.to_string().as_bytes()).to_string();
        assert!(!other.contains("4111") && !other.contains("ada") && !other.contains('7'), "{other}");
        assert_eq!(redaction.body(Origin::Topic("mail"), b"card 4111"), json!(HIDDEN));
        assert_eq!(redaction.body(Origin::Topic("mail"), b"\"4111\""), json!(HIDDEN));
        // What is allowed for a topic is not allowed for a stream of its name, nor the other way round.
        let of_stream = redaction.body(Origin::Stream("mail"), body.to_string().as_bytes()).to_string();
        assert!(!of_stream.contains('7'), "{of_stream}");
        assert_eq!(redaction.body(Origin::Stream("orders"), b"{\"state\":\"paid\"}"), json!({ "state": "paid" }));
        assert_eq!(redaction.body(Origin::Topic("orders"), b"{\"state\":\"paid\"}"), json!({ "state": HIDDEN }));
    }
}
