//! `/`: creates and lists links.

use super::Assets;
use super::conflicts;
use super::fields::{self, FormInput};
use super::text;
use crate::domain::{Code, Link, Page, PageRequest};
use crate::http::{App, invalid_page};
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;
use web::forms::{self, general};
use web::site::{NavItem, layout};
use web::{Changed, Form, Host, Problem, Query};

/// Rows on one page.
const ROWS: u32 = 20;

/// The query of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct View {
    /// The search text.
    #[serde(default)]
    q: String,
    page: Option<u32>,
    /// The code of a link that was just created.
    created: Option<String>,
    /// The code of a link that was just changed.
    changed: Option<String>,
    /// The code of a link that was just deleted.
    deleted: Option<String>,
    /// The code of a link that was just banned.
    banned: Option<String>,
    /// The code of a link whose ban was just lifted.
    unbanned: Option<String>,
}

/// `GET /`
pub(super) async fn show(State(app): State<App>, host: Host, Query(view): Query<View>) -> Result<Response, Problem> {
    let page = render(&app, &host, &view, &FormInput::default(), None).await?;
    Ok(page.into_response())
}

/// `POST /links`
pub(super) async fn create(
    State(app): State<App>,
    host: Host,
    Form(input): Form<FormInput>,
) -> Result<Response, Problem> {
    match app.service.create(&input.draft(), host.as_str()).await {
        Ok(written) => {
            let to = format!("/?created={}", written.value.code);
            Ok((Extension(written.consistency), Extension(Changed), Redirect::to(&to)).into_response())
        }
        Err(error) => {
            let problem = Problem::from(error);
            let page = render(&app, &host, &View::default(), &input, Some(&problem)).await?;
            Ok((problem.status(), page).into_response())
        }
    }
}

async fn render(
    app: &App,
    host: &Host,
    view: &View,
    input: &FormInput,
    problem: Option<&Problem>,
) -> Result<Markup, Problem> {
    let request =
        PageRequest::new(Some(&view.q), view.page.unwrap_or(1), ROWS).map_err(|refused| invalid_page(&refused))?;
    let page = app.service.list(&request).await?;
    let body = html! {
        (redis_notice(app))
        (notices(app, host, view).await?)
        (conflicts::shown(app).await?)
        (form(app, host, input, problem))
        (list(app, host, view, &request, &page))
    };
    Ok(layout::<Assets>("Links", NavItem::Home, &body))
}

fn redis_notice(app: &App) -> Markup {
    html! {
        @if app.service.redis_state() == "down" {
            div.notice.bad role="status" {
                p { "Redis is unreachable. Links are served from the database; the service reconnects by itself." }
            }
        }
    }
}

/// Notices about the write that redirected here. The one about a deletion is true of any code without a link.
async fn notices(app: &App, host: &Host, view: &View) -> Result<Markup, Problem> {
    let created = match &view.created {
        Some(code) => app.service.get(code).await?,
        None => None,
    };
    let changed = announced(app, view.changed.as_ref(), |link| link.is_some()).await?;
    let banned = announced(app, view.banned.as_ref(), |link| link.is_some_and(|link| link.banned)).await?;
    let unbanned = announced(app, view.unbanned.as_ref(), |link| link.is_some_and(|link| !link.banned)).await?;
    let deleted = announced(app, view.deleted.as_ref(), |link| link.is_none()).await?;
    Ok(html! {
        @if let Some(link) = created {
            @let short_url = app.own.url(host, link.code.as_str());
            section.notice.good role="status" aria-label="Link created" {
                p { "Your short link is ready." }
                div.row {
                    a.short id="created" href=(short_url) { (text::without_scheme(&short_url)) }
                    (text::copy(&short_url, "the short URL"))
                }
                (text::target(link.target.as_str()))
            }
        }
        @if let Some(code) = &changed { div.notice.good role="status" { p { "The link " span.code { (code) } " was changed." } } }
        @if let Some(code) = &banned { div.notice.good role="status" { p { "The link " span.code { (code) } " was banned." } } }
        @if let Some(code) = &unbanned { div.notice.good role="status" { p { "The ban on " span.code { (code) } " was lifted." } } }
        @if let Some(code) = &deleted { div.notice.good role="status" { p { "There is no link " span.code { (code) } " now." } } }
    })
}

/// The code, if its link is in the announced state: anyone can craft the query of this page.
async fn announced(
    app: &App,
    code: Option<&String>,
    holds: impl FnOnce(Option<Link>) -> bool,
) -> Result<Option<String>, Problem> {
    let Some(code) = code.filter(|code| Code::parse(code).is_ok()) else { return Ok(None) };
    Ok(holds(app.service.get(code).await?).then(|| code.clone()))
}

fn form(app: &App, host: &Host, input: &FormInput, problem: Option<&Problem>) -> Markup {
    let prefix = app.own.url(host, "");
    html! {
        section.card aria-labelledby="create" {
            h1 id="create" { "Create a short link" }
            (general(fields::FIELDS, problem))
            form method="post" action="/links" {
                div.fields.three {
                    (fields::target(input, problem))
                    (fields::alias(input, problem, text::without_scheme(&prefix)))
                    (fields::end(input, problem))
                    div.actions { button.primary type="submit" { "Shorten" } }
                }
            }
        }
    }
}

fn list(app: &App, host: &Host, view: &View, request: &PageRequest, page: &Page) -> Markup {
    html! {
        section.card aria-labelledby="all" {
            div.row {
                h2 id="all" { @if view.q.is_empty() { "Links" } @else { "Links matching “" (view.q) "”" } }
                form.search role="search" method="get" action="/" {
                    input type="search" id="q" name="q" value=(view.q) placeholder="Code or URL"
                        aria-label="Search codes and URLs" autocomplete="off" spellcheck="false";
                    button type="submit" { "Search" }
                }
            }
            @if page.links.is_empty() { (empty(view)) } @else { (table(app, host, page)) }
            (pages(view, request, page))
        }
    }
}

fn table(app: &App, host: &Host, page: &Page) -> Markup {
    html! {
        table.links {
            colgroup { col.col-code; col; col.col-ends; col.col-made; col.col-do; }
            thead { tr {
                th scope="col" { "Short link" }
                th scope="col" { "Target" }
                th scope="col" { "Expires" }
                th scope="col" { "Created" }
                th scope="col" { span hidden { "Actions" } }
            } }
            tbody { @for link in &page.links { (row(app, host, link)) } }
        }
    }
}

fn row(app: &App, host: &Host, link: &Link) -> Markup {
    let short_url = app.own.url(host, link.code.as_str());
    let expired = link.is_expired(app.service.now());
    html! {
        tr {
            td { div.cell {
                a.code.ellipsis href=(short_url) title=(short_url) { (link.code) }
                (text::copy(&short_url, &format!("the short URL of {}", link.code)))
            } }
            td { @if link.banned { span.badge { "Banned" } " " } (text::target(link.target.as_str())) }
            @match link.expires_at {
                None => td.when { "Never expires" },
                Some(_) if expired => td.when { span.badge { "Expired" } },
                Some(end) => td.when data-label="Expires" { (text::day(end)) },
            }
            td.when data-label="Created" { (text::day(link.created_at)) }
            td { div.actions {
                a.button.small.quiet href={ "/links/" (link.code) } aria-label={ "Edit " (link.code) } { "Edit" }
                a.button.small.quiet.danger href={ "/links/" (link.code) "/delete" } aria-label={ "Delete " (link.code) } { "Delete" }
            } }
        }
    }
}

fn empty(view: &View) -> Markup {
    html! {
        div.empty {
            @if view.q.is_empty() {
                h3 { "No links yet" }
                p { "Paste a long URL above and press Shorten. The short link works immediately." }
            } @else {
                h3 { "Nothing found" }
                p { "No code or target contains “" (view.q) "”. The search ignores case and matches any part of a code or target." }
                a.button href="/" { "Show all links" }
            }
        }
    }
}

fn pages(view: &View, request: &PageRequest, page: &Page) -> Markup {
    let shown = u64::try_from(page.links.len()).unwrap_or_default();
    let (first, last) = (request.skipped() + 1, request.skipped() + shown);
    let range = html! { (first) "–" (last) " of " (page.total) @if page.total_is_capped { "+" } };
    let address = |page| address(&view.q, page);
    forms::pages(request.number(), (shown > 0).then_some(&range), last < page.total, address)
}

fn address(q: &str, page: u32) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if !q.is_empty() {
        query.append_pair("q", q);
    }
    if page > 1 {
        query.append_pair("page", &page.to_string());
    }
    let query = query.finish();
    if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
}
