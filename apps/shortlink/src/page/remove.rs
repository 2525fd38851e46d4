//! `/links/{code}/delete`: asks for confirmation, then deletes.

use super::Assets;
use super::text;
use crate::http::{App, unknown_code};
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use web::site::{NavItem, layout};
use web::{Changed, Host, Problem};

/// `GET /links/{code}/delete`
pub(super) async fn ask(State(app): State<App>, host: Host, Path(code): Path<String>) -> Result<Markup, Problem> {
    let link = app.service.get(&code).await?.ok_or_else(|| unknown_code(&code))?;
    let short_url = app.own.url(&host, link.code.as_str());
    let body = html! {
        section.card.narrow {
            h1 { "Delete " span.code { (link.code) } "?" }
            p { strong { (text::without_scheme(&short_url)) } " will stop working, and visitors will get an error page. This cannot be undone." }
            (text::target(link.target.as_str()))
            form method="post" action={ "/links/" (link.code) "/delete" } {
                div.actions {
                    button.danger type="submit" { "Delete" }
                    a.button href="/" { "Cancel" }
                }
            }
        }
    };
    Ok(layout::<Assets>(&format!("Delete {}", link.code), NavItem::Other, &body))
}

/// `POST /links/{code}/delete`. Succeeds if the link was already deleted.
pub(super) async fn delete(State(app): State<App>, Path(code): Path<String>) -> Result<Response, Problem> {
    let to = Redirect::to(&format!("/?deleted={}", urlencoded(&code)));
    Ok(match app.service.delete(&code, None).await? {
        Some(written) => (Extension(written.consistency), Extension(Changed), to).into_response(),
        None => to.into_response(),
    })
}

fn urlencoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
