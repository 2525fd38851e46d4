//! [`Draft`] and [`DraftPatch`]: links as somebody wrote them, and the check that names every field at fault.

use crate::domain::{Code, CodeRefused, LinkPatch, NewLink, Target, TargetRules};
use jiff::Timestamp;
use jiff::civil::date;
use jiff::fmt::temporal::Pieces;
use std::fmt;

/// A link to be made, as somebody wrote it.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Where it shall lead.
    pub target: String,
    /// The code it shall have; `None`: generate one.
    pub alias: Option<String>,
    /// When it shall end, as RFC 3339 writes it.
    pub expires_at: Option<String>,
}

/// A change, as somebody wrote it; `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct DraftPatch {
    /// Where it shall lead.
    pub target: Option<String>,
    /// When it shall end, as RFC 3339 writes it; `Some(None)`: never.
    pub expires_at: Option<Option<String>>,
    /// Whether it shall be forbidden from now on.
    pub banned: Option<bool>,
}

/// Why a field was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field, as the API spells it.
    pub field: &'static str,
    /// A whole sentence for whoever wrote it.
    pub reason: String,
    /// Whether the field is well formed and only stands in the way of something else.
    pub is_conflict: bool,
}

/// What a draft is checked against.
pub(super) struct Check<'a> {
    /// Which targets are taken.
    pub(super) rules: &'a TargetRules,
    /// What the request called this service: a link to it would be a loop.
    pub(super) host: Option<&'a str>,
    /// Ends lie after this moment.
    pub(super) now: Timestamp,
}

impl Check<'_> {
    pub(super) fn draft(&self, draft: &Draft) -> Result<NewLink, Vec<Refusal>> {
        let target = self.target(&draft.target);
        let alias = draft.alias.as_deref().map(alias).transpose();
        let expires_at = draft.expires_at.as_deref().map(|text| self.end(text)).transpose();
        match (target, alias, expires_at) {
            (Ok(target), Ok(alias), Ok(expires_at)) => Ok(NewLink { alias, target, expires_at }),
            (target, alias, expires_at) => {
                Err([target.err(), alias.err(), expires_at.err()].into_iter().flatten().collect())
            }
        }
    }

    pub(super) fn patch(&self, patch: &DraftPatch) -> Result<LinkPatch, Vec<Refusal>> {
        let target = patch.target.as_deref().map(|text| self.target(text)).transpose();
        let end = |end: &Option<String>| end.as_deref().map(|text| self.end(text)).transpose();
        let expires_at = patch.expires_at.as_ref().map(end).transpose();
        match (target, expires_at) {
            (Ok(target), Ok(expires_at)) => Ok(LinkPatch { target, expires_at, banned: patch.banned }),
            (target, expires_at) => Err([target.err(), expires_at.err()].into_iter().flatten().collect()),
        }
    }

    fn target(&self, text: &str) -> Result<Target, Refusal> {
        self.rules.check(text, self.host).map_err(|refused| Refusal::new("target", &refused))
    }

    fn end(&self, text: &str) -> Result<Timestamp, Refusal> {
        let unreadable = "not a moment as RFC 3339 writes it, such as 2030-01-01T00:00:00Z";
        let end: Timestamp = text.parse().map_err(|_| match is_too_late(text) {
            true => {
                Refusal::new("expires_at", &format_args!("{text} is too late; the last moment is {}", Timestamp::MAX))
            }
            false => Refusal::new("expires_at", &unreadable),
        })?;
        if end <= self.now {
            return Err(Refusal::new("expires_at", &format_args!("{end} has passed; a link must end in the future")));
        }
        Ok(end)
    }
}

/// Whether it is a moment after the last one that can be stored.
fn is_too_late(text: &str) -> bool {
    Pieces::parse(text).is_ok_and(|pieces| pieces.offset().is_some() && pieces.date() >= date(9999, 12, 30))
}

fn alias(text: &str) -> Result<Code, Refusal> {
    Code::alias(text).map_err(|refused| Refusal {
        is_conflict: matches!(refused, CodeRefused::Reserved(_)),
        ..Refusal::new("alias", &refused)
    })
}

impl Refusal {
    fn new(field: &'static str, reason: &dyn fmt::Display) -> Self {
        Refusal { field, reason: sentence(reason), is_conflict: false }
    }
}

/// A reason of the domain as a sentence: they begin small and end without a full stop, to fit into other sentences.
pub(crate) fn sentence(reason: &dyn fmt::Display) -> String {
    let reason = reason.to_string();
    let mut characters = reason.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}
