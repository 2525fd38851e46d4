//! `/links/{code}`: shows and edits one link.

use super::Assets;
use super::ban;
use super::clicks;
use super::fields::{self, FormInput};
use super::text;
use crate::domain::{ClickStats, Link};
use crate::http::{App, VERSION_CONFLICT, unknown_code};
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use web::forms::general;
use web::site::{NavItem, layout};
use web::{Changed, Form, Host, Problem};

/// `GET /links/{code}`
pub(super) async fn show(State(app): State<App>, host: Host, Path(code): Path<String>) -> Result<Markup, Problem> {
    let link = app.service.get(&code).await?.ok_or_else(|| unknown_code(&code))?;
    // The form works without the chart: pending writes are shown while the database is unreachable.
    let stats = match app.service.counts_clicks() {
        true => app.service.clicks_of(&link, clicks::DAYS).await.ok(),
        false => None,
    };
    Ok(render(&app, &host, &link, &FormInput::from(&link), None, stats.as_ref()))
}

/// `POST /links/{code}`: saves the form unless the link has changed since the form was rendered.
pub(super) async fn save(
    State(app): State<App>,
    host: Host,
    Path(code): Path<String>,
    Form(input): Form<FormInput>,
) -> Result<Response, Problem> {
    let problem = match app.service.patch(&code, &input.patch(), input.version, host.as_str()).await {
        Ok(Some(written)) => {
            let to = format!("/?changed={code}");
            return Ok((Extension(written.consistency), Extension(Changed), Redirect::to(&to)).into_response());
        }
        Ok(None) => return Err(unknown_code(&code)),
        Err(error) => Problem::from(error),
    };
    let link = app.service.get(&code).await?.ok_or_else(|| unknown_code(&code))?;
    // The form keeps the input and takes the current version: submitting it again overwrites the other change.
    let input = FormInput { version: Some(link.version), ..input };
    Ok((problem.status(), render(&app, &host, &link, &input, Some(&problem), None)).into_response())
}

fn render(
    app: &App,
    host: &Host,
    link: &Link,
    input: &FormInput,
    problem: Option<&Problem>,
    stats: Option<&ClickStats>,
) -> Markup {
    let short_url = app.own.url(host, link.code.as_str());
    let overtaken = problem.is_some_and(|problem| problem.kind() == VERSION_CONFLICT);
    let body = html! {
        section.card.narrow {
            h1 { "Edit " span.code { (link.code) } }
            @if overtaken {
                div.notice.bad role="alert" {
                    p { strong { "This link was changed while you were editing it." } " Its target is now:" }
                    (text::target(link.target.as_str()))
                    p { "Save again to overwrite that change with the values below." }
                }
            } @else { (general(fields::FIELDS, problem)) }
            form method="post" action={ "/links/" (link.code) } {
                input type="hidden" name="version" value=(input.version.unwrap_or(link.version));
                input type="hidden" name="expires_was" value=(link.expires_at.map(|end| end.to_string()).unwrap_or_default());
                div.fields {
                    (fields::target(input, problem))
                    (fields::end(input, problem))
                    div.actions.full {
                        button.primary type="submit" { "Save" }
                        a.button href="/" { "Cancel" }
                    }
                }
            }
        }
        @if let Some(stats) = stats { (clicks::section(stats)) }
        section.card.narrow aria-labelledby="about" {
            h2 id="about" { "About this link" }
            dl.facts {
                dt { "Short URL" }
                dd { div.row { a href=(short_url) { (text::without_scheme(&short_url)) } (text::copy(&short_url, "the short URL")) } }
                dt { "Created" } dd { (text::minute(link.created_at)) }
                dt { "Last updated" } dd { (text::minute(link.updated_at)) }
                dt { "Expires" }
                dd {
                    @match link.expires_at {
                        None => "Never",
                        Some(end) => {
                            (text::minute(end))
                            @if link.is_expired(app.service.now()) { " " span.badge { "Expired" } }
                        },
                    }
                }
                @if link.banned { dt { "Status" } dd { span.badge { "Banned" } } }
            }
            div.actions {
                (ban::button(link))
                a.button.danger href={ "/links/" (link.code) "/delete" } { "Delete this link" }
            }
        }
    };
    layout::<Assets>(&format!("Edit {}", link.code), NavItem::Other, &body)
}

impl From<&Link> for FormInput {
    fn from(link: &Link) -> Self {
        FormInput {
            target: link.target.as_str().to_owned(),
            alias: String::new(),
            expires_at: link.expires_at.map(fields::field_moment).unwrap_or_default(),
            version: Some(link.version),
            expires_was: String::new(),
        }
    }
}
