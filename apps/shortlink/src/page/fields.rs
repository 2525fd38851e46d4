//! The form's fields, each with its label, placeholder and error.

use crate::service::{Draft, DraftPatch};
use maud::{Markup, html};
use serde::Deserialize;
use web::Problem;
use web::forms::{error_line, field_error};

/// The fields of the form.
pub(super) const FIELDS: &[&str] = &["target", "alias", "expires_at"];

/// The submitted form. Fields are text, so that an invalid value can be shown again next to its error.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct FormInput {
    #[serde(default)]
    pub(super) target: String,
    #[serde(default)]
    pub(super) alias: String,
    #[serde(default)]
    pub(super) expires_at: String,
    /// The link's version when the form was rendered.
    pub(super) version: Option<i64>,
    /// The exact expiry when the form was rendered; the field itself shows minutes only.
    #[serde(default)]
    pub(super) expires_was: String,
}

impl FormInput {
    /// The link to create. An empty field counts as omitted.
    pub(super) fn draft(&self) -> Draft {
        Draft { target: self.target(), alias: filled(&self.alias), expires_at: filled(&self.expires_at).map(moment) }
    }

    /// The requested change. An expiry that still reads as it did was not edited and keeps its seconds.
    pub(super) fn patch(&self) -> DraftPatch {
        let touched = shown(&self.expires_at) != shown(&self.expires_was);
        let expires_at = touched.then(|| filled(&self.expires_at).map(moment));
        DraftPatch { target: Some(self.target()), expires_at, banned: None }
    }

    /// Trimmed, because pasted text often has surrounding white space, and `https://` if it begins with a host. (The API does neither.)
    fn target(&self) -> String {
        let text = self.target.trim();
        let host = text.split(['/', '?', '#', ':']).next().unwrap_or_default();
        let is_host = host.contains('.') && !host.contains('@') && !text.contains("://");
        if is_host { format!("https://{text}") } else { text.to_owned() }
    }
}

/// The target field.
pub(super) fn target(input: &FormInput, problem: Option<&Problem>) -> Markup {
    let error = field_error("target", problem);
    html! {
        div.field.full {
            label for="target" { "Long URL" }
            input type="text" inputmode="url" id="target" name="target" value=(input.target) required
                placeholder="https://example.com/page" autocomplete="off" autocapitalize="none"
                spellcheck="false" autofocus[error.is_some()]
                aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| "target-error")];
            (error_line("target-error", error))
        }
    }
}

/// The alias field.
pub(super) fn alias(input: &FormInput, problem: Option<&Problem>, prefix: &str) -> Markup {
    let error = field_error("alias", problem);
    html! {
        div.field {
            label for="alias" { "Alias " small { "(optional)" } }
            div.joined {
                span aria-hidden="true" { (prefix) }
                input type="text" id="alias" name="alias" value=(input.alias) maxlength="64"
                    placeholder="automatic" autocomplete="off" autocapitalize="none" spellcheck="false"
                    autofocus[error.is_some()]
                    aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| "alias-error")];
            }
            (error_line("alias-error", error))
        }
    }
}

/// The expiry field, in UTC; the script converts it to the browser's time zone.
pub(super) fn end(input: &FormInput, problem: Option<&Problem>) -> Markup {
    let error = field_error("expires_at", problem);
    html! {
        div.field {
            label for="expires_at" { "Expires " small { "(optional, " span data-zone { "UTC" } ")" } }
            input type="datetime-local" id="expires_at" name="expires_at" value=(shown(&input.expires_at)) data-utc
                aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| "expires_at-error")];
            (error_line("expires_at-error", error))
        }
    }
}

/// A timestamp as `datetime-local` takes it: to the minute, in UTC, without an offset.
pub(super) fn field_moment(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M").to_string()
}

fn filled(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The field's value (`2030-01-01T12:00`, UTC) as RFC 3339; the script submits RFC 3339 already.
fn moment(text: String) -> String {
    match text.len() {
        16 => text + ":00Z",
        19 => text + "Z",
        _ => text,
    }
}

/// A submitted value as the field can show it again.
fn shown(text: &str) -> String {
    moment(text.to_owned()).parse().map_or_else(|_| text.to_owned(), field_moment)
}

#[cfg(test)]
mod tests {
    use super::FormInput;

    // shows: hazard S41
    #[test]
    fn target_without_scheme_is_https() {
        for (entered, target) in [
            (" example.com/x ", "https://example.com/x"),
            ("example.com", "https://example.com"),
            ("example.com:8443/x", "https://example.com:8443/x"),
            ("bücher.example?q=a:b", "https://bücher.example?q=a:b"),
            ("http://example.com/x", "http://example.com/x"),
            ("javascript:alert(1.0)", "javascript:alert(1.0)"),
            ("mailto:a@example.com", "mailto:a@example.com"),
            ("//example.com", "//example.com"),
            ("localhost/x", "localhost/x"),
            ("not an address", "not an address"),
        ] {
            let input = FormInput { target: entered.to_owned(), ..FormInput::default() };
            assert_eq!(input.draft().target, target);
            assert_eq!(input.patch().target.as_deref(), Some(target));
        }
    }
}
