//! The pages of streams: all of them, one with its groups, the dead letters of a group, one dead letter.

pub(super) mod dead;
pub(crate) mod group;
pub(super) mod letter;
pub(super) mod list;
pub(super) mod stream;

use crate::console::app::App;
use crate::console::on::{OnStream, StreamNames};
use crate::console::pages::group_path;
use crate::console::rights::Visitor;
use crate::console::security::redact::{HIDDEN, Origin};
use crate::output::printable;
use crate::stream::{kind, reason};
use evenkeel::stream::admin::{DeadLetter, DeadLetters};

/// The value of a dead letter as this visitor may see it.
fn value(app: &App, visitor: &Visitor, stream: &str, letter: &DeadLetter) -> String {
    match DeadLetters::value_of(letter) {
        None => "cannot be decoded".to_owned(),
        Some(value) if visitor.sees_bodies() => printable(&value),
        Some(value) => app.security.redaction.body(Origin::Stream(stream), &value).to_string(),
    }
}

/// A key as this visitor may see it: it may be the id of a person.
pub(crate) fn key(visitor: &Visitor, key: &[u8]) -> String {
    if visitor.sees_bodies() { printable(key) } else { HIDDEN.to_owned() }
}

/// Why the entry died, as this visitor may see it: viewers see the kind only.
fn why(visitor: &Visitor, letter: &DeadLetter) -> String {
    let last = letter.tries.as_ref().and_then(|tries| tries.notes.last());
    let text = reason(letter);
    if visitor.sees_bodies() && !text.is_empty() {
        return text;
    }
    last.map_or("unknown", |note| kind(note.kind)).to_owned()
}

impl StreamNames {
    /// The path below which the pages of the group are.
    fn path(&self) -> String {
        group_path(&self.stream, &self.group)
    }
}
