//! [`Site`]: an application's name and assets, and the layout of its pages.

use super::{asset, docs};
use crate::{Kind, Problem};
use axum::Router;
use axum::http::header;
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};
use rust_embed::RustEmbed;

/// The texts of an application's pages. Implemented by its embedded assets, which include `icon.svg`.
pub trait Site: RustEmbed {
    /// Name of the application.
    const NAME: &'static str;
    /// Version of the application.
    const VERSION: &'static str;
    /// Label of the home page in the navigation.
    const HOME: &'static str;
    /// Label of the link to the home page on error pages.
    const BACK: &'static str;
    /// A first command line for the documentation; `{base}` is replaced by the service's base URL.
    const EXAMPLE: &'static str;
    /// Its style sheets, loaded after the one of all applications.
    const STYLES: &'static [&'static str] = &[];
    /// Its scripts; the pages work without them.
    const SCRIPTS: &'static [&'static str] = &[];
}

/// An entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavItem {
    /// The home page.
    Home,
    /// `/docs`
    Documentation,
    /// A page outside of the navigation.
    Other,
}

/// A complete HTML document with `body` as the content.
#[must_use]
pub fn layout<S: Site>(title: &str, current: NavItem, body: &Markup) -> Markup {
    document::<S>(
        title,
        &html! {
            a.skip href="#content" { "Skip to content" }
            (top::<S>(current))
            main.wrap id="content" { (body) }
            footer.foot {
                span { (S::NAME) " " (S::VERSION) ", built on Evenkeel" }
                a href="/openapi.json" { "OpenAPI" }
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

/// The routes `/openapi.json` (`json`) and `/docs` (`document` as a page); `kinds` are the application's problem types, `base` is its
/// base URL.
pub fn documentation<S: Site, T: Clone + Send + Sync + 'static>(
    json: String,
    document: &utoipa::openapi::OpenApi,
    kinds: &[Kind],
    base: &str,
) -> Router<T> {
    let body = docs::body(document, &S::EXAMPLE.replace("{base}", base), kinds);
    let page = layout::<S>("API", NavItem::Documentation, &body);
    Router::new()
        .route("/openapi.json", get(async move || ([(header::CONTENT_TYPE, "application/json")], json)))
        .route("/docs", get(async move || page))
}

/// A problem as a page.
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
    layout::<S>(problem.title(), NavItem::Other, &body)
}

/// A problem as a page for visitors: without links to the administration pages.
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

fn top<S: Site>(current: NavItem) -> Markup {
    let mark = |item: NavItem| (item == current).then_some("page");
    html! {
        header.top {
            div.bar {
                a.brand href="/" {
                    img src=(asset::url::<S>("icon.svg")) width="28" height="28" alt="";
                    (S::NAME)
                }
                nav aria-label="Main" {
                    a href="/" aria-current=[mark(NavItem::Home)] { (S::HOME) }
                    a href="/docs" aria-current=[mark(NavItem::Documentation)] { "API" }
                }
            }
        }
    }
}
