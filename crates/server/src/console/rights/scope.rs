//! [`Scope`]: what an API key may do. A person has a role, a program has scopes.

use super::Action;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One scope of an API key. Scopes do not include each other: a key that also reads needs `read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum Scope {
    /// Figures and lists, with the fields of bodies that viewers see.
    Read,
    /// Whole bodies, and the texts of errors.
    Bodies,
    /// What operators do.
    Operate,
    /// What only admins do: delete dead letters, move or unregister a group, break a lock, create a topic.
    Admin,
    /// Enqueues to this topic; `*`: to each.
    Enqueue(String),
    /// Appends to this stream; `*`: to each.
    Append(String),
    /// Works on the jobs of this topic; `*`: of each.
    Work(String),
    /// Uses locks whose names begin with this; empty: all.
    Lock(String),
    /// Invalidates entries of this cache; `*`: of each.
    Invalidate(String),
}

impl Scope {
    /// Whether it permits `action` on `target`: a topic, a stream, a cache, the name of a lock. Without a target: on any.
    pub(crate) fn allows(&self, action: Action, target: Option<&str>) -> bool {
        let names = |name: &String| name == "*" || target.is_none_or(|target| target == name);
        match (self, action) {
            (Self::Read, Action::Read)
            | (Self::Bodies, Action::Bodies)
            | (Self::Admin, Action::Delete | Action::Seek | Action::Unregister | Action::Break | Action::Create) => {
                true
            }
            (Self::Operate, action) => action.scope() == "operate" || action == Action::Invalidate,
            (Self::Enqueue(name), Action::Enqueue)
            | (Self::Append(name), Action::Append)
            | (Self::Work(name), Action::Work)
            | (Self::Invalidate(name), Action::Invalidate) => names(name),
            (Self::Lock(prefix), Action::Lock) => target.is_none_or(|name| name.starts_with(prefix.as_str())),
            _ => false,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Bodies => f.write_str("bodies"),
            Self::Operate => f.write_str("operate"),
            Self::Admin => f.write_str("admin"),
            Self::Enqueue(topic) => write!(f, "enqueue:{topic}"),
            Self::Append(stream) => write!(f, "append:{stream}"),
            Self::Work(topic) => write!(f, "work:{topic}"),
            Self::Lock(prefix) => write!(f, "lock:{prefix}"),
            Self::Invalidate(cache) => write!(f, "invalidate:{cache}"),
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of = |name: &str| name.to_owned();
        match text.split_once(':') {
            None => match text {
                "read" => Ok(Self::Read),
                "bodies" => Ok(Self::Bodies),
                "operate" => Ok(Self::Operate),
                "admin" => Ok(Self::Admin),
                _ => Err(unknown(text)),
            },
            Some(("lock", prefix)) => Ok(Self::Lock(of(prefix))),
            Some((kind, "")) => Err(format!("the scope `{kind}:` needs a name, or * for each")),
            Some(("enqueue", topic)) => Ok(Self::Enqueue(of(topic))),
            Some(("append", stream)) => Ok(Self::Append(of(stream))),
            Some(("work", topic)) => Ok(Self::Work(of(topic))),
            Some(("invalidate", cache)) => Ok(Self::Invalidate(of(cache))),
            Some(_) => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> String {
    format!(
        "unknown scope `{text}`; use read, bodies, operate, admin, enqueue:TOPIC, append:STREAM, work:TOPIC, lock:PREFIX or \
         invalidate:CACHE"
    )
}

impl TryFrom<String> for Scope {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn scope_permits_its_action_on_its_target_only() {
        let allows = |scope: &str, action, target| scope.parse::<Scope>().unwrap().allows(action, Some(target));
        assert!(allows("enqueue:mail", Action::Enqueue, "mail") && !allows("enqueue:mail", Action::Enqueue, "mail2"));
        assert!(!allows("enqueue:mail", Action::Work, "mail") && allows("work:*", Action::Work, "mail"));
        assert!(allows("lock:stock/", Action::Lock, "stock/42") && !allows("lock:stock/", Action::Lock, "stock"));
        assert!(
            allows("operate", Action::Invalidate, "user") && !allows("invalidate:user", Action::Invalidate, "users")
        );
        assert!(!allows("operate", Action::Delete, "mail") && allows("admin", Action::Delete, "mail"));
        assert!(
            allows("append:orders", Action::Append, "orders") && !allows("append:orders", Action::Append, "clicks")
        );
        assert!(allows("admin", Action::Seek, "orders") && !allows("operate", Action::Seek, "orders"));
        assert!(!allows("operate", Action::Read, "mail") && !allows("read", Action::Bodies, "mail"));
    }

    #[test]
    fn text_of_a_scope_is_read_back() {
        for text in [
            "read",
            "bodies",
            "operate",
            "admin",
            "enqueue:mail",
            "append:orders",
            "work:*",
            "lock:",
            "lock:stock/",
            "invalidate:user",
        ] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in ["", "write", "enqueue:", "work", "delete:mail"] {
            assert!(text.parse::<Scope>().is_err(), "{text}");
        }
    }
}
