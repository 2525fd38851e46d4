//! [`Redaction`]: what viewers see of bodies. An allow list: a field that the configuration does not name is hidden.

use serde_json::Value;
use std::collections::HashMap;

/// What stands in place of a hidden value.
pub(crate) const HIDDEN: &str = "[hidden]";

/// The paths that viewers see, by topic. A path is the names of nested fields with dots; an array is looked through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redaction {
    allowed: HashMap<String, Vec<String>>,
}

impl Redaction {
    pub(crate) fn new(allowed: HashMap<String, Vec<String>>) -> Self {
        Self { allowed }
    }

    /// The body as a viewer sees it. A body that is not JSON is hidden as a whole.
    pub(crate) fn body(&self, topic: &str, body: &[u8]) -> Value {
        let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return Value::String(HIDDEN.to_owned()) };
        let allowed: Vec<&str> = self.allowed.get(topic).into_iter().flatten().map(String::as_str).collect();
        hide(&mut value, &allowed);
        value
    }
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
        let allowed = HashMap::from([("mail".to_owned(), vec!["user".to_owned(), "items.sku".to_owned()])]);
        let redaction = Redaction::new(allowed);
        let body =
            json!({ "user": { "id": 7 }, "card": "4111", "username": "ada", "items": [{ "sku": "a", "price": 3 }] });
        let shown = redaction.body("mail", body.to_string().as_bytes());
        let expected = json!({ "user": { "id": 7 }, "card": HIDDEN, "username": HIDDEN, "items": [{ "sku": "a", "price": HIDDEN }] });
        assert_eq!(shown, expected);
        let other = redaction.body("other", body.to_string().as_bytes()).to_string();
        assert!(!other.contains("4111") && !other.contains("ada") && !other.contains('7'), "{other}");
        assert_eq!(redaction.body("mail", b"card 4111"), json!(HIDDEN));
        assert_eq!(redaction.body("mail", b"\"4111\""), json!(HIDDEN));
    }
}
