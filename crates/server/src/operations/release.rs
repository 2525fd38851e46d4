//! Decides what becomes of something that is parked: a unit of work or a key of the outbox, a message of the inbox.

use super::{Done, Failure, Operation, changed_meanwhile};
use crate::database::{Database, on};
use crate::kind::invalid;
use crate::roles::Action;
use evenkeel::Keel;
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision};
use evenkeel::sql::{ParkedMessageDecision, WorkId};
use serde_json::json;
use web::hex;

/// Something that is parked.
#[derive(Clone, Copy)]
pub(crate) enum Parked<'a> {
    /// A unit of work, and its id as a text.
    Work(WorkId, &'a str),
    Key {
        topic: &'a str,
        key: &'a str,
    },
    Message {
        group: &'a str,
        id: &'a [u8],
    },
}

/// It is tried again, or given up, which is confirmed by the name of its topic or group, or by the first eight digits of its id. Refused if the
/// tables are those of another version.
pub(crate) fn release<'a>(database: &'a Database, parked: Parked<'a>, gives_up: bool) -> Operation<'a> {
    let run = async move {
        parked.check()?;
        database.check_schema().await?;
        let (how, message) = match gives_up {
            false => (ParkedDecision::Resend, ParkedMessageDecision::Run),
            true => (ParkedDecision::Skip, ParkedMessageDecision::Skip),
        };
        let was_parked = match parked {
            Parked::Work(work, _) => on!(database, pool => Outbox::new(pool).release(work, how).await?),
            Parked::Key { topic, key } => on!(database, pool => Outbox::new(pool).release_key(topic, key, how).await?),
            // The inbox is in the database alone.
            Parked::Message { group, id } => {
                on!(database, pool => Keel::memory().inbox(pool).release(group, id, message).await?)
            }
        };
        if !was_parked {
            return Err(changed_meanwhile("It is no longer parked. Nothing was changed.", "not parked"));
        }
        Ok(match (parked, gives_up) {
            (Parked::Message { .. }, false) => Done::new(
                "released",
                "Released: the message is processed at its next delivery.",
                "released: runs at its next delivery",
            ),
            (_, false) => Done::new("released", "Released: a relay tries it again now.", "due now"),
            (Parked::Message { .. }, true) => {
                Done::new("skipped", "Given up: the message is never processed.", "skipped")
            }
            (_, true) => Done::new("skipped", "Given up.", "skipped"),
        })
    };
    let (what, name) = parked.confirmation();
    let target = match parked {
        Parked::Work(_, work) => json!({ "work": work }),
        Parked::Key { topic, key } => json!({ "topic": topic, "key": key }),
        Parked::Message { group, id } => json!({ "group": group, "message": hex(id) }),
    };
    match gives_up {
        false => Operation::new((Action::Resend, "resend"), name, target, run),
        true => Operation::new((Action::Skip, "skip"), name, target, run).confirmed_by(what, name),
    }
}

impl<'a> Parked<'a> {
    /// Some databases find nothing with a NUL, others refuse the statement.
    fn check(self) -> Result<(), Failure> {
        let named = match self {
            Self::Work(..) => return Ok(()),
            Self::Key { topic, key } => [("topic", topic), ("key", key)],
            Self::Message { group, .. } => [("group", group); 2],
        };
        match named.into_iter().find(|(_, text)| text.contains('\0')) {
            Some((field, _)) => {
                Err(Failure::refused(invalid(field, "No name has a NUL character."), "no name has a NUL character"))
            }
            None => Ok(()),
        }
    }

    /// What is typed to give it up: what it is, and the name.
    pub(crate) fn confirmation(self) -> (&'static str, &'a str) {
        match self {
            Self::Work(_, work) => ("the first eight digits of its id", work.get(..8).unwrap_or(work)),
            Self::Key { topic, .. } => ("the topic's name", topic),
            Self::Message { group, .. } => ("the group's name", group),
        }
    }
}
