//! [`Draft`] and [`DraftPatch`]: unvalidated input, and the validation that reports all invalid fields at once.

use crate::domain::{Code, InvalidCode, LinkPatch, NewLink, Target, TargetRules};
use jiff::Timestamp;
use jiff::civil::date;
use jiff::fmt::temporal::Pieces;
use std::fmt;
use web::sentence;

/// An unvalidated link to create.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The target URL.
    pub target: String,
    /// The requested code; `None` generates one.
    pub alias: Option<String>,
    /// The expiry, as an RFC 3339 timestamp.
    pub expires_at: Option<String>,
}

/// An unvalidated change; a `None` field keeps its value.
#[derive(Clone, Debug, Default)]
pub struct DraftPatch {
    /// The new target URL.
    pub target: Option<String>,
    /// The new expiry, as an RFC 3339 timestamp; `Some(None)` removes it.
    pub expires_at: Option<Option<String>>,
    /// Whether the link is banned.
    pub banned: Option<bool>,
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// The field, as the API spells it.
    pub field: &'static str,
    /// The reason, as a sentence for the user.
    pub reason: String,
    /// Whether the value is well formed and conflicts with something else (a reserved alias).
    pub is_conflict: bool,
}

/// The context of a validation.
pub(super) struct Check<'a> {
    /// The rules for targets.
    pub(super) rules: &'a TargetRules,
    /// The request's `Host`: a link to it would be a loop.
    pub(super) host: Option<&'a str>,
    /// Expiries must be after this time.
    pub(super) now: Timestamp,
}

impl Check<'_> {
    pub(super) fn draft(&self, draft: &Draft) -> Result<NewLink, Vec<InvalidField>> {
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

    pub(super) fn patch(&self, patch: &DraftPatch) -> Result<LinkPatch, Vec<InvalidField>> {
        let target = patch.target.as_deref().map(|text| self.target(text)).transpose();
        let end = |end: &Option<String>| end.as_deref().map(|text| self.end(text)).transpose();
        let expires_at = patch.expires_at.as_ref().map(end).transpose();
        match (target, expires_at) {
            (Ok(target), Ok(expires_at)) => Ok(LinkPatch { target, expires_at, banned: patch.banned }),
            (target, expires_at) => Err([target.err(), expires_at.err()].into_iter().flatten().collect()),
        }
    }

    fn target(&self, text: &str) -> Result<Target, InvalidField> {
        self.rules.check(text, self.host).map_err(|refused| InvalidField::new("target", &refused))
    }

    fn end(&self, text: &str) -> Result<Timestamp, InvalidField> {
        let refused = |reason: &dyn fmt::Display| InvalidField::new("expires_at", reason);
        let end: Timestamp = text.parse().map_err(|_| match is_too_late(text) {
            true => refused(&format_args!("{text} is too late; the latest possible time is {}", Timestamp::MAX)),
            false => refused(&"not an RFC 3339 timestamp such as 2030-01-01T00:00:00Z"),
        })?;
        if end <= self.now {
            return Err(refused(&format_args!("{end} is in the past; the expiry must be in the future")));
        }
        Ok(end)
    }
}

/// Whether `text` is a timestamp after the latest one that can be stored.
fn is_too_late(text: &str) -> bool {
    Pieces::parse(text).is_ok_and(|pieces| pieces.offset().is_some() && pieces.date() >= date(9999, 12, 30))
}

fn alias(text: &str) -> Result<Code, InvalidField> {
    Code::alias(text).map_err(|refused| InvalidField {
        is_conflict: matches!(refused, InvalidCode::Reserved(_)),
        ..InvalidField::new("alias", &refused)
    })
}

impl InvalidField {
    fn new(field: &'static str, reason: &dyn fmt::Display) -> Self {
        InvalidField { field, reason: sentence(reason), is_conflict: false }
    }
}
