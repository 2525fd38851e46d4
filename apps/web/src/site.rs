//! [`Site`]: what an application's pages say of themselves, and the frame that is around each of them.

use crate::{Kind, Problem, asset, docs};
use axum::Router;
use axum::http::header;
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};
use rust_embed::RustEmbed;

/// What an application's pages say of themselves. Implemented by its files, among which is `icon.svg`.
pub trait Site: RustEmbed {
    /// What the application is called.
    const NAME: &'static str;
    /// Which version of it this is.
    const VERSION: &'static str;
    /// What its first page is called in the navigation.
    const HOME: &'static str;
    /// How a page that leads nowhere else leads there.
    const BACK: &'static str;
    /// A command line to begin with, for the documentation; `{base}` stands for what the service's addresses begin with.
    const EXAMPLE: &'static str;
    /// Its own style sheets, after the one that all applications have.
    const STYLES: &'static [&'static str] = &[];
    /// Its scripts; pages work without them.
    const SCRIPTS: &'static [&'static str] = &[];
}

/// Which entry of the navigation a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The application's first page.
    Home,
    /// `/docs`
    Documentation,
    /// None of them.
    Elsewhere,
}

/// A whole document around `body`.
#[must_use]
pub fn frame<S: Site>(title: &str, place: Place, body: &Markup) -> Markup {
    document::<S>(
        title,
        &html! {
            a.skip href="#content" { "Skip to the content" }
            (top::<S>(place))
            main.wrap id="content" { (body) }
            footer.foot {
                span { (S::NAME) " " (S::VERSION) ", built on Evenkeel" }
                a href="/openapi.json" { "OpenAPI document" }
                a href="/readyz" { "Readiness" }
                a href="/metrics" { "Metrics" }
            }
        },
    )
}

fn document<S: Site>(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head::<S>(title))
            body { (body) }
        }
    }
}

/// `/openapi.json`, which is `json`, and `/docs`, the same document for people; `kinds` are the application's own problems, `base` is
/// what its addresses begin with.
pub fn documentation<S: Site, T: Clone + Send + Sync + 'static>(
    json: String,
    document: &utoipa::openapi::OpenApi,
    kinds: &[Kind],
    base: &str,
) -> Router<T> {
    let body = docs::body(document, &S::EXAMPLE.replace("{base}", base), kinds);
    let page = frame::<S>("API", Place::Documentation, &body);
    Router::new()
        .route("/openapi.json", get(async move || ([(header::CONTENT_TYPE, "application/json")], json)))
        .route("/docs", get(async move || page))
}

/// A problem as a page, for those who asked for one.
#[must_use]
pub fn problem<S: Site>(problem: &Problem) -> Markup {
    let body = html! {
        section.card.narrow {
            h1 { (problem.title()) }
            p { (problem.detail()) }
            p.hint { "Status " (problem.status().as_u16()) }
            div.actions { a.button href="/" { (S::BACK) } }
        }
    };
    frame::<S>(problem.title(), Place::Elsewhere, &body)
}

/// A problem as a page for visitors, who have nothing to do with the administration: no links into it.
#[must_use]
pub fn problem_for_visitors<S: Site>(problem: &Problem) -> Markup {
    document::<S>(
        problem.title(),
        &html! {
            main.wrap id="content" {
                section.card.narrow {
                    h1 { (problem.title()) }
                    p { (problem.detail()) }
                    p.hint { "Status " (problem.status().as_u16()) }
                }
            }
        },
    )
}

fn head<S: Site>(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · " (S::NAME) }
            link rel="icon" type="image/svg+xml" href=(asset::url::<S>("icon.svg"));
            link rel="stylesheet" href=(asset::url::<S>("style.css"));
            @for file in S::STYLES { link rel="stylesheet" href=(asset::url::<S>(file)); }
            @for file in S::SCRIPTS { script src=(asset::url::<S>(file)) defer {} }
        }
    }
}

fn top<S: Site>(place: Place) -> Markup {
    let here = |which: Place| (which == place).then_some("page");
    html! {
        header.top {
            div.bar {
                a.brand href="/" {
                    img src=(asset::url::<S>("icon.svg")) width="28" height="28" alt="";
                    (S::NAME)
                }
                nav aria-label="Main" {
                    a href="/" aria-current=[here(Place::Home)] { (S::HOME) }
                    a href="/docs" aria-current=[here(Place::Documentation)] { "API" }
                }
            }
        }
    }
}
