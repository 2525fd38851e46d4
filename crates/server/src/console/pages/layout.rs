//! The layout of every page.

use super::Assets;
use crate::console::app::App;
use crate::console::rights::{Action, CSRF_FIELD, PAGE_FIELD, Typed, Visitor};
use maud::{DOCTYPE, Markup, html};
use web::{Problem, asset};

/// A page with the navigation, and above it the answer of the action that led here, or why the form was rejected.
pub(super) fn page(app: &App, visitor: &Visitor, title: &str, body: &Markup) -> Markup {
    document(
        title,
        &html! {
            a.skip href="#content" { "Skip to content" }
            header.top { div.bar {
                a.brand href="/" { img src=(asset::url::<Assets>("icon.svg")) width="28" height="28" alt=""; "Evenkeel" }
                span.source title=(app.source.name()) { (app.source.name()) }
                nav aria-label="Main" { @for (path, label) in [("/", "Overview"), ("/streams", "Streams"), ("/caches", "Caches"), ("/locks", "Locks"), ("/workers", "Workers"), ("/schedules", "Schedules"), ("/outbox", "Outbox"), ("/operations", "Operations")] {
                    a href=(path) aria-current=[(title == label).then_some("page")] { (label) }
                } }
                @if app.security.login.is_some() && visitor.role.is_some() {
                    form method="post" action="/logout" { (csrf(visitor)) button.quiet.small { "Log out " (visitor.name) } }
                }
            } }
            main.wrap id="content" {
                @if let Some(notice) = &visitor.notice { div.notice.good role="status" { p { (notice) } } }
                @if let Some(rejected) = &visitor.rejected { div.notice.bad role="alert" { p { strong { (rejected.problem.title()) ". " } (rejected.problem.detail()) } } }
                (body)
            }
            footer.foot { span { "evenkeel " (env!("CARGO_PKG_VERSION")) } @if visitor.may(Action::Log) { a href="/log" { "Log" } } @if visitor.may(Action::Setup) { a href="/setup" { "Setup" } } a href="/link" { "Link" } a href="/docs" { "API" } a href="/metrics" { "Metrics" } span.keys { "Keys: " kbd { "?" } } }
            (keys())
        },
    )
}

/// The keys, which `keys.js` shows.
fn keys() -> Markup {
    let keys = [
        ("/", "Find"),
        ("g q", "Queues"),
        ("g s", "Streams"),
        ("g c", "Caches"),
        ("g l", "Locks"),
        ("g w", "Workers"),
        ("g t", "Schedules"),
        ("g x", "Outbox"),
        ("g o", "Operations"),
        ("j k Enter", "Rows"),
        ("Esc", "Close"),
    ];
    html! {
        dialog id="keys" aria-labelledby="keys-title" {
            h2 id="keys-title" { "Keys" }
            dl.facts { @for (key, what) in keys { dt { kbd { (key) } } dd { (what) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// A problem as a page.
pub(crate) fn problem_page(problem: &Problem) -> Markup {
    document(
        problem.title(),
        &html! {
            main.wrap id="content" { section.card.narrow {
                h1 { (problem.title()) }
                p { (problem.detail()) }
                p.hint { "Status " (problem.status().as_u16()) }
                div.actions { a.button href="/" { "Back to the overview" } }
            } }
        },
    )
}

/// The hidden fields that prove that a form is ours, and say which page to show again if it is rejected.
pub(super) fn csrf(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(visitor.csrf); input type="hidden" name=(PAGE_FIELD) value=(visitor.page); }
}

/// What a deletion does, and its button.
pub(super) const DELETE: (&str, &str) = ("No undo", "Delete");

/// The form that does something after `name`, the name of a `what`, was typed. `fields` are its other fields, `typed` what it had when it was
/// rejected; then what it does, and its button.
pub(super) fn confirm_form(
    (summary, action): (&str, &str),
    fields: &Markup,
    (what, name): (&str, &str),
    typed: Typed<'_>,
    (effect, button): (&str, &str),
) -> Markup {
    html! {
        details open[typed.is_rejected()] { summary { (summary) }
            form method="post" action=(action) { (fields)
                div.field { label { (effect) ". Type the " (what) "'s name: " strong { (name) } " " (typed.input("confirm", true)) } }
                button.danger { (button) } }
        }
    }
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Evenkeel" }
                link rel="icon" type="image/svg+xml" href=(asset::url::<Assets>("icon.svg"));
                link rel="stylesheet" href=(asset::url::<Assets>("style.css"));
                link rel="stylesheet" href=(asset::url::<Assets>("console.css"));
                script src=(asset::url::<Assets>("live.js")) defer {}
                script src=(asset::url::<Assets>("keys.js")) defer {}
            }
            body { (body) }
        }
    }
}
