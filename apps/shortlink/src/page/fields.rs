//! The form's fields, each with its label, its hint and what is wrong with it.

use crate::service::{Draft, DraftPatch};
use maud::{Markup, html};
use serde::Deserialize;
use web::Problem;

/// What the form sends. Fields are text: what is wrong with them is said beside them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Typed {
    #[serde(default)]
    pub(super) target: String,
    #[serde(default)]
    pub(super) alias: String,
    #[serde(default)]
    pub(super) expires_at: String,
    /// The version the form was made from.
    pub(super) version: Option<i64>,
    /// When the link ended as the form was made, to the last digit; the field itself shows minutes.
    #[serde(default)]
    pub(super) expires_was: String,
}

impl Typed {
    /// The link that is meant. A field left empty is a field left out.
    pub(super) fn draft(&self) -> Draft {
        Draft { target: self.target(), alias: filled(&self.alias), expires_at: filled(&self.expires_at).map(moment) }
    }

    /// The change that is meant. An end that still reads as it did was not touched.
    pub(super) fn patch(&self) -> DraftPatch {
        let touched = shown(&self.expires_at) != shown(&self.expires_was);
        let expires_at = touched.then(|| filled(&self.expires_at).map(moment));
        DraftPatch { target: Some(self.target()), expires_at, banned: None }
    }

    /// Pasting often brings a space or a line's end along. (The API takes no such liberty.)
    fn target(&self) -> String {
        self.target.trim().to_owned()
    }
}

/// Where the link leads.
pub(super) fn target(typed: &Typed, problem: Option<&Problem>) -> Markup {
    let wrong = wrong("target", problem);
    html! {
        div.field.full {
            label for="target" { "Long address" }
            input type="text" inputmode="url" id="target" name="target" value=(typed.target) required
                placeholder="https://example.com/page" autocomplete="off" autocapitalize="none"
                spellcheck="false" autofocus[wrong.is_some()]
                aria-invalid=[wrong.map(|_| "true")] aria-describedby=[wrong.map(|_| "target-error")];
            (error("target-error", wrong))
        }
    }
}

/// The code somebody wants.
pub(super) fn alias(typed: &Typed, problem: Option<&Problem>, prefix: &str) -> Markup {
    let wrong = wrong("alias", problem);
    html! {
        div.field {
            label for="alias" { "Alias " small { "(optional)" } }
            div.joined {
                span aria-hidden="true" { (prefix) }
                input type="text" id="alias" name="alias" value=(typed.alias) maxlength="64"
                    placeholder="automatic" autocomplete="off" autocapitalize="none" spellcheck="false"
                    autofocus[wrong.is_some()]
                    aria-invalid=[wrong.map(|_| "true")] aria-describedby=[wrong.map(|_| "alias-error")];
            }
            (error("alias-error", wrong))
        }
    }
}

/// When the link ends. Written in UTC; the script turns it into the reader's time.
pub(super) fn end(typed: &Typed, problem: Option<&Problem>) -> Markup {
    let wrong = wrong("expires_at", problem);
    html! {
        div.field {
            label for="expires_at" { "Ends " small { "(optional, " span data-zone { "UTC" } ")" } }
            input type="datetime-local" id="expires_at" name="expires_at" value=(shown(&typed.expires_at)) data-utc
                aria-invalid=[wrong.map(|_| "true")] aria-describedby=[wrong.map(|_| "expires_at-error")];
            (error("expires_at-error", wrong))
        }
    }
}

/// What is wrong with the whole rather than with one of its fields.
pub(super) fn general(problem: Option<&Problem>) -> Markup {
    let known = |field: &str| matches!(field, "target" | "alias" | "expires_at");
    let beside =
        |problem: &&Problem| !problem.errors().is_empty() && problem.errors().iter().all(|error| known(&error.field));
    let elsewhere = problem.filter(|problem| !beside(problem));
    html! {
        @if let Some(problem) = elsewhere {
            div.notice.bad role="alert" { p { strong { (problem.title()) ". " } (problem.detail()) } }
        }
    }
}

/// A moment as the field shows it: to the minute, in UTC, without saying so.
pub(super) fn field_moment(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M").to_string()
}

fn wrong<'a>(field: &str, problem: Option<&'a Problem>) -> Option<&'a str> {
    problem?.errors().iter().find(|error| error.field == field).map(|error| error.detail.as_str())
}

fn error(id: &str, wrong: Option<&str>) -> Markup {
    html! { @if let Some(detail) = wrong { p.error id=(id) { (detail) } } }
}

fn filled(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What the field sends (`2030-01-01T12:00`, UTC) as RFC 3339 has it; what the script sends is that already.
fn moment(text: String) -> String {
    match text.len() {
        16 => text + ":00Z",
        19 => text + "Z",
        _ => text,
    }
}

/// What was sent, as the field can show it again.
fn shown(text: &str) -> String {
    moment(text.to_owned()).parse().map_or_else(|_| text.to_owned(), field_moment)
}
