//! `/setup`: whether the servers of the source meet the requirements, and which prefixes of its Redis have queues or streams. Both are buttons:
//! the checks write a key that expires, and the prefixes are found by scanning all keys.

use super::layout::{csrf, page};
use super::wrapping::wrapping;
use crate::console::app::App;
use crate::console::on::On;
use crate::console::rights::Visitor;
use crate::doctor::{Check, Server, Verdict, examine};
use crate::output::truncated;
use crate::prefixes::{STREAMS, TOPICS, find};
use evenkeel::clock::Clock;
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;
use web::{Kind, Problem, Query};

/// Prefixes that one page shows.
const PREFIXES_MAX: usize = 100;
/// Characters of a prefix or of what a check has found.
const WIDTH: usize = 200;
/// How long the search for prefixes, or all checks together, may take.
const TIME_MAX: Duration = Duration::from_secs(20);

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Choice {
    /// Whether to look for prefixes.
    scan: String,
}

pub(super) async fn show(On { app, visitor, .. }: On<()>, Query(choice): Query<Choice>) -> Result<Markup, Problem> {
    if choice.scan.is_empty() {
        return Ok(view(&app, &visitor, &html! {}));
    }
    let _one = app.source.searches.begin(true).await?;
    let found = async {
        let mut prefixes = find(&app.source.keel, TOPICS).await?;
        prefixes.extend(find(&app.source.keel, STREAMS).await?);
        anyhow::Ok(prefixes)
    };
    let found = Clock::system().timeout(TIME_MAX, found).await.map_err(|_| late("The search for prefixes"))?;
    let prefixes = found.map_err(|error| Problem::new(Kind::UNAVAILABLE, format!("{error:#}.")))?;
    Ok(view(&app, &visitor, &listed(&prefixes, app.source.name())))
}

pub(super) async fn check(On { app, visitor, .. }: On<()>) -> Result<Markup, Problem> {
    let _one = app.source.searches.begin(true).await?;
    let mut reports = Vec::new();
    let all = async {
        for address in app.source.addresses() {
            reports.push(examine(address).await);
        }
    };
    Clock::system().timeout(TIME_MAX, all).await.map_err(|_| late("The checks"))?;
    Ok(view(&app, &visitor, &html! { @for report in &reports { (checks(report)) } }))
}

fn late(what: &str) -> Problem {
    Problem::new(Kind::UNAVAILABLE, format!("{what} took longer than {} s.", TIME_MAX.as_secs()))
}

fn view(app: &App, visitor: &Visitor, found: &Markup) -> Markup {
    let addresses = app.source.addresses();
    let body = html! {
        h1 { "Setup" }
        section.card {
            h2 { "Requirements" }
            @if addresses.is_empty() {
                div.empty { h3 { "No server to check" } p { "This console shows the embedded store of its own process." } }
            } @else {
                ul { @for address in addresses { li { (address.shown) } } }
                form method="post" action="/setup/check" { (csrf(visitor)) button { "Check the servers" } }
                p.hint { "As " code { "evenkeel doctor" } ": versions, settings, permissions, round trips. The checks leave nothing behind." }
            }
        }
        @if app.source.keel.link().is_some() {
            section.card {
                h2 { "Prefixes" }
                p { "This console shows the prefix " code { (app.source.name()) } "." }
                form.inline method="get" action="/setup" {
                    input type="hidden" name="scan" value="1";
                    button { "Find prefixes" } span.hint { "Scans all keys of the server, in small steps." }
                }
            }
        }
        (found)
    };
    page(app, visitor, "Setup", &body)
}

fn listed(prefixes: &BTreeSet<String>, own: &str) -> Markup {
    html! {
        section.card {
            h2 { "Prefixes with queues or streams" }
            @if prefixes.is_empty() {
                div.empty { h3 { "No prefix has queues or streams" } p { "A prefix is here once a program has opened a queue or a stream." } }
            } @else {
                ul {
                    @if prefixes.contains(own) { li { code { (wrapping(&truncated(own, WIDTH))) } " (shown by this console)" } }
                    @for prefix in prefixes.iter().filter(|prefix| *prefix != own).take(PREFIXES_MAX - 1) { li { code { (wrapping(&truncated(prefix, WIDTH))) } } }
                }
                @if prefixes.len() > PREFIXES_MAX { p.hint { "At most " (PREFIXES_MAX) " of " (prefixes.len()) "." } }
                p.hint { "To see another one, add " code { "?prefix=NAME" } " to the address in " code { "--redis" } "." }
            }
        }
    }
}

fn checks(server: &Server) -> Markup {
    html! {
        section.card {
            h2 { (wrapping(&server.address)) }
            div.scroll tabindex="0" { table.rows {
                thead { tr { th scope="col" { "Check" } th scope="col" { "Result" } th scope="col" { "Found" } th scope="col" { "What to do" } } }
                tbody { @for Check { check, verdict, found, remedy } in &server.checks { tr {
                    td { (check) }
                    td data-label="Result" { (match verdict { Verdict::Ok => "✓ ok", Verdict::Warn => "! warning", Verdict::Fail => "✕ failed" }) }
                    td data-label="Found" { (wrapping(&truncated(found, WIDTH))) }
                    td data-label="What to do" { (wrapping(remedy.as_deref().unwrap_or("-"))) }
                } } }
            } }
        }
    }
}
