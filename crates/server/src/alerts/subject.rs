//! [`Subject`]: what an alert is about, whose names stand in the texts of its rule.

use crate::console::SEGMENT;
use percent_encoding::utf8_percent_encode;
use std::fmt;

/// A name's place in the texts of a rule.
pub(super) const TOPIC: &str = "TOPIC";
pub(super) const STREAM: &str = "STREAM";
pub(super) const GROUP: &str = "GROUP";

/// What a sample is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A server, or the outbox.
    Place(&'static str),
    Topic(String),
    Group {
        stream: String,
        group: String,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(name) => f.write_str(name),
            Self::Topic(name) => f.write_str(name),
            Self::Group { stream, group } => write!(f, "{stream}/{group}"),
        }
    }
}

impl Subject {
    /// The page of a rule: each name is a segment of its path.
    pub(super) fn page(&self, text: &str) -> String {
        filled(text, &self.names(|name| utf8_percent_encode(name, SEGMENT).to_string()))
    }

    /// The action of a rule, whose commands can be copied to a shell.
    pub(super) fn action(&self, text: &str) -> String {
        filled(text, &self.names(quoted))
    }

    fn names(&self, written: impl Fn(&str) -> String) -> Vec<(&'static str, String)> {
        match self {
            Self::Place(_) => Vec::new(),
            Self::Topic(topic) => vec![(TOPIC, written(topic))],
            Self::Group { stream, group } => vec![(STREAM, written(stream)), (GROUP, written(group))],
        }
    }
}

/// `text` with names in their places. A name that contains the word for a place stays as it is.
pub(super) fn filled(text: &str, names: &[(&str, String)]) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    let first = |rest: &str| {
        let places = names.iter().filter_map(|(place, name)| Some((rest.find(place)?, place.len(), name.as_str())));
        places.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, length, name)) = first(rest) {
        filled += &rest[..at];
        filled += name;
        rest = &rest[at + length..];
    }
    filled + rest
}

/// The name as one word of a shell.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: hazard PO9
    #[test]
    fn names_stand_in_pages_and_actions() {
        let topic = Subject::Topic("mail".to_owned());
        assert_eq!(topic.page("/queues/TOPIC/dead"), "/queues/mail/dead");
        assert_eq!(topic.action("`evenkeel queue stats TOPIC`"), "`evenkeel queue stats mail`");
        let group = Subject::Group { stream: "GROUP a/b".to_owned(), group: "it's; $x".to_owned() };
        assert_eq!(group.page("/streams/STREAM/groups/GROUP"), "/streams/GROUP%20a%2Fb/groups/it%27s%3B%20%24x");
        assert_eq!(group.action("STREAM GROUP --confirm GROUP"), r"'GROUP a/b' 'it'\''s; $x' --confirm 'it'\''s; $x'");
        assert_eq!(Subject::Place("redis").page("/link"), "/link");
    }
}
