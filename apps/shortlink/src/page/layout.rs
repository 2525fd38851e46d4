//! The frame around every page.

use super::Assets;
use maud::{DOCTYPE, Markup, html};
use web::asset;

/// Which entry of the navigation the page is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Links,
    Documentation,
    Elsewhere,
}

/// A whole document around `body`.
pub(super) fn layout(title: &str, place: Place, body: &Markup) -> Markup {
    let here = |which: Place| (which == place).then_some("page");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · shortlink" }
                link rel="icon" type="image/svg+xml" href=(asset::url::<Assets>("icon.svg"));
                link rel="stylesheet" href=(asset::url::<Assets>("style.css"));
                script src=(asset::url::<Assets>("page.js")) defer {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    div.bar {
                        a.brand href="/" {
                            img src=(asset::url::<Assets>("icon.svg")) width="28" height="28" alt="";
                            "shortlink"
                        }
                        nav aria-label="Main" {
                            a href="/" aria-current=[here(Place::Links)] { "Links" }
                            a href="/docs" aria-current=[here(Place::Documentation)] { "API" }
                        }
                    }
                }
                main.wrap id="content" { (body) }
                footer.foot {
                    span { "shortlink " (env!("CARGO_PKG_VERSION")) ", built on Evenkeel" }
                    a href="/openapi.json" { "OpenAPI document" }
                    a href="/readyz" { "Readiness" }
                    a href="/metrics" { "Metrics" }
                }
            }
        }
    }
}
