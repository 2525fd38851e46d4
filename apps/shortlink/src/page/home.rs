//! `/`: make a link, find links.

use super::Assets;
use super::conflicts;
use super::fields::{self, Typed};
use super::text;
use crate::domain::{Code, Link, Page, PageRequest};
use crate::http::{App, refused_page};
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;
use web::site::{NavItem, layout};
use web::{Changed, Form, Host, Problem, Query};

/// Rows on one page.
const ROWS: u32 = 20;

/// What the address of the page says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct View {
    /// What to search for.
    #[serde(default)]
    q: String,
    page: Option<u32>,
    /// The code of a link that was made just now.
    made: Option<String>,
    /// The code of a link that was changed just now.
    changed: Option<String>,
    /// The code of a link that was deleted just now.
    deleted: Option<String>,
    /// The code of a link that was banned just now.
    banned: Option<String>,
    /// The code of a link whose ban was lifted just now.
    unbanned: Option<String>,
}

/// `GET /`
pub(super) async fn show(State(app): State<App>, host: Host, Query(view): Query<View>) -> Result<Response, Problem> {
    let page = render(&app, &host, &view, &Typed::default(), None).await?;
    Ok(page.into_response())
}

/// `POST /links`
pub(super) async fn create(State(app): State<App>, host: Host, Form(typed): Form<Typed>) -> Result<Response, Problem> {
    match app.service.create(&typed.draft(), host.as_str()).await {
        Ok(written) => {
            let to = format!("/?made={}", written.value.code);
            Ok((Extension(written.consistency), Extension(Changed), Redirect::to(&to)).into_response())
        }
        Err(error) => {
            let problem = Problem::from(error);
            let page = render(&app, &host, &View::default(), &typed, Some(&problem)).await?;
            Ok((problem.status(), page).into_response())
        }
    }
}

async fn render(
    app: &App,
    host: &Host,
    view: &View,
    typed: &Typed,
    problem: Option<&Problem>,
) -> Result<Markup, Problem> {
    let request =
        PageRequest::new(Some(&view.q), view.page.unwrap_or(1), ROWS).map_err(|refused| refused_page(&refused))?;
    let page = app.service.list(&request).await?;
    let body = html! {
        (told(app, host, view).await?)
        (conflicts::shown(app).await?)
        (form(app, host, typed, problem))
        (list(app, host, view, &request, &page))
    };
    Ok(layout::<Assets>("Links", NavItem::Home, &body))
}

/// What just happened, in the reader's words.
async fn told(app: &App, host: &Host, view: &View) -> Result<Markup, Problem> {
    let made = match &view.made {
        Some(code) => app.service.get(code).await?,
        None => None,
    };
    let changed = announced(app, view.changed.as_ref(), |link| link.is_some()).await?;
    let banned = announced(app, view.banned.as_ref(), |link| link.is_some_and(|link| link.banned)).await?;
    let unbanned = announced(app, view.unbanned.as_ref(), |link| link.is_some_and(|link| !link.banned)).await?;
    let deleted = announced(app, view.deleted.as_ref(), |link| link.is_none()).await?;
    Ok(html! {
        @if let Some(link) = made {
            @let short_url = app.own.url(host, link.code.as_str());
            section.notice.good role="status" aria-label="Link made" {
                p { "Your short link is ready." }
                div.row {
                    a.short id="made" href=(short_url) { (text::spoken(&short_url)) }
                    (text::copy(&short_url, "the short address"))
                }
                (text::target(link.target.as_str()))
            }
        }
        @if let Some(code) = &changed { div.notice.good role="status" { p { "The link " span.code { (code) } " was changed." } } }
        @if let Some(code) = &banned { div.notice.good role="status" { p { "The link " span.code { (code) } " was banned." } } }
        @if let Some(code) = &unbanned { div.notice.good role="status" { p { "The ban of " span.code { (code) } " was lifted." } } }
        @if let Some(code) = &deleted { div.notice.good role="status" { p { "The link " span.code { (code) } " was deleted." } } }
    })
}

/// The code, if it is one and what is said of its link holds: the address of the page is anybody's to write.
async fn announced(
    app: &App,
    code: Option<&String>,
    holds: impl FnOnce(Option<Link>) -> bool,
) -> Result<Option<String>, Problem> {
    let Some(code) = code.filter(|code| Code::parse(code).is_ok()) else { return Ok(None) };
    Ok(holds(app.service.get(code).await?).then(|| code.clone()))
}

fn form(app: &App, host: &Host, typed: &Typed, problem: Option<&Problem>) -> Markup {
    let prefix = app.own.url(host, "");
    html! {
        section.card aria-labelledby="make" {
            h1 id="make" { "Shorten an address" }
            (fields::general(problem))
            form method="post" action="/links" {
                div.fields.three {
                    (fields::target(typed, problem))
                    (fields::alias(typed, problem, text::spoken(&prefix)))
                    (fields::end(typed, problem))
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
                h2 id="all" { @if view.q.is_empty() { "Links" } @else { "Links with “" (view.q) "”" } }
                form.search role="search" method="get" action="/" {
                    input type="search" id="q" name="q" value=(view.q) placeholder="Code or address"
                        aria-label="Search codes and addresses" autocomplete="off" spellcheck="false";
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
                th scope="col" { "Leads to" }
                th scope="col" { "Ends" }
                th scope="col" { "Made" }
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
                (text::copy(&short_url, &format!("the short address of {}", link.code)))
            } }
            td { @if link.banned { span.badge { "Banned" } " " } (text::target(link.target.as_str())) }
            td.when data-label="Ends" {
                @match link.expires_at {
                    None => "Never",
                    Some(_) if expired => span.badge { "Expired" },
                    Some(end) => (text::day(end)),
                }
            }
            td.when data-label="Made" { (text::day(link.created_at)) }
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
                p { "Paste a long address above and press Shorten. The link works at once." }
            } @else {
                h3 { "Nothing found" }
                p { "No code and no address contains “" (view.q) "”. A part of either is enough; capital letters do not matter." }
                a.button href="/" { "Show all links" }
            }
        }
    }
}

fn pages(view: &View, request: &PageRequest, page: &Page) -> Markup {
    let shown = u64::try_from(page.links.len()).unwrap_or_default();
    let (first, last) = (request.skipped() + 1, request.skipped() + shown);
    let more = last < page.total;
    html! {
        @if shown > 0 || request.number() > 1 {
            nav.pages aria-label="Pages" {
                span {
                    @if shown > 0 { (first) "–" (last) " of " (page.total) @if page.total_is_capped { "+" } }
                    @else { "This page is empty." }
                }
                div.actions {
                    @if request.number() > 1 {
                        a.button.small rel="prev" href=(address(&view.q, request.number() - 1)) { "Previous" }
                    }
                    @if more { a.button.small rel="next" href=(address(&view.q, request.number() + 1)) { "Next" } }
                }
            }
        }
    }
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
