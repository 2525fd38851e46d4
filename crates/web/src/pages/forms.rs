//! What pages with forms and lists share: the errors at the fields, and the links to the neighboring pages of a list.

use crate::Problem;
use maud::{Markup, html};

/// The error of a field.
#[must_use]
pub fn field_error<'a>(field: &str, problem: Option<&'a Problem>) -> Option<&'a str> {
    problem?.errors().iter().find(|error| error.field == field).map(|error| error.detail.as_str())
}

/// An error below its field.
#[must_use]
pub fn error_line(id: &str, error: Option<&str>) -> Markup {
    html! { @if let Some(error) = error { p.error id=(id) { (error) } } }
}

/// A problem, unless it is only about `fields`, which show their errors themselves.
#[must_use]
pub fn general(fields: &[&str], problem: Option<&Problem>) -> Markup {
    let is_at_fields = |problem: &Problem| {
        let errors = problem.errors();
        !errors.is_empty() && errors.iter().all(|error| fields.contains(&error.field.as_str()))
    };
    html! {
        @if let Some(problem) = problem.filter(|problem| !is_at_fields(problem)) {
            div.notice.bad role="alert" { p { strong { (problem.title()) ". " } (problem.detail()) } }
        }
    }
}

/// The links to the pages around page `number` of a list, if it has others or shows something. `shown` says which part of the list the
/// page shows; `None` for an empty page. `has_next`: there is a page after it. `address` is the address of a page.
#[must_use]
pub fn pages(number: u32, shown: Option<&Markup>, has_next: bool, address: impl Fn(u32) -> String) -> Markup {
    html! {
        @if shown.is_some() || number > 1 {
            nav.pages aria-label="Pages" {
                span { @if let Some(shown) = shown { (shown) } @else { "This page is empty." } }
                div.actions {
                    @if number > 1 { a.button.small rel="prev" href=(address(number - 1)) { "Previous" } }
                    @if has_next { a.button.small rel="next" href=(address(number + 1)) { "Next" } }
                }
            }
        }
    }
}
