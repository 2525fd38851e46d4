//! `/caches`: the caches that processes report, one entry of a cache, and its invalidation. Redis has no list of caches, so the name is
//! typed.

use super::layout::{csrf, page};
use super::processes;
use super::wrapping::wrapping;
use super::{Acted, SEGMENT};
use crate::cache::entry;
use crate::console::on::On;
use crate::console::rights::{Action, Visitor};
use crate::console::source::cache_problem;
use crate::kind::invalid;
use crate::operations;
use crate::output::truncated;
use crate::time::read_span;
use evenkeel::cache::admin::{Inspected, Mode, Outdated};
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use std::time::Duration;
use web::{Form, Problem, Query, capitalized};

/// Characters of a value on the page.
const SHOWN_MAX: usize = 4_096;
const NAME_MAX: usize = 64;
const KEY_MAX: usize = 4_096;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Choice {
    cache: String,
    key: String,
}

/// What the form of an entry sends.
#[derive(Deserialize)]
pub(super) struct Outdate {
    cache: String,
    key: String,
    /// `expire` or `purge`.
    mode: String,
    /// How far the replicas that loaders read may lag behind; empty: loaders read the primary.
    #[serde(default)]
    lag: String,
}

pub(super) async fn show(On { app, visitor, .. }: On<()>, Query(choice): Query<Choice>) -> Result<Markup, Problem> {
    let found = match choice.cache.is_empty() {
        true => None,
        false => {
            let admin = app.source.keel.cache_admin(&choice.cache).map_err(|error| cache_problem("key", &error))?;
            Some(admin.inspect(&choice.key).await.map_err(|error| cache_problem("key", &error))?)
        }
    };
    let reports = app.collector.reports().await;
    let body = html! {
        h1 { "Caches" }
        form.inline method="get" action="/caches" role="search" {
            div.field { label for="q" { "Name of the cache" } input id="q" name="cache" value=(choice.cache) required maxlength=(NAME_MAX) autocomplete="off"; }
            div.field { label for="key" { "Key" } input id="key" name="key" value=(choice.key) required maxlength=(KEY_MAX) autocomplete="off"; }
            button { "Inspect" }
        }
        @match &found {
            Some(found) => (of_entry(&visitor, &choice, found)),
            None => { (processes::caches::table(&reports)) section.card { div.empty { h3 { "Which entry?" } p { "Type the name of the cache and the key, as it is in Redis between the braces: " code { "42" } ", or " code { "7,42" } " for a pair." } } } },
        }
    };
    Ok(page(&app, &visitor, "Caches", &body))
}

fn of_entry(visitor: &Visitor, choice: &Choice, found: &Inspected) -> Markup {
    html! {
        section.card { h2 { (wrapping(&choice.cache)) " / " (wrapping(&choice.key)) }
            dl.facts { @for (name, text) in entry::facts(found) { dt { (capitalized(name)) } dd { (text) } } }
            @if let Some(text) = entry::text(found) {
                h3 { "Value" }
                @if visitor.sees_bodies() { pre { (truncated(&text, SHOWN_MAX)) } } @else { p.hint { "Hidden: your role does not see values." } }
            }
            p.hint { "A process with a near cache may serve another value for a moment." }
        }
        @if visitor.may(Action::Invalidate) {
            section.card { h2 { "Actions" } div.forms {
                (form(visitor, choice, "expire", "Invalidate: the next read loads it"))
                (form(visitor, choice, "purge", "Purge: not even a reader whose load fails gets the old value"))
            } }
        }
    }
}

fn form(visitor: &Visitor, choice: &Choice, mode: &str, label: &str) -> Markup {
    let typed = visitor.typed("/caches/invalidate").with("mode", mode);
    html! {
        form method="post" action="/caches/invalidate" { (csrf(visitor))
            input type="hidden" name="cache" value=(choice.cache); input type="hidden" name="key" value=(choice.key); input type="hidden" name="mode" value=(mode);
            div.field { label { "Lag of replicas " small { "(2s; empty: loaders read the primary)" } " " (typed.input("lag", false)) } }
            button { (label) }
        }
    }
}

pub(super) async fn invalidate(at: On<()>, Form(outdate): Form<Outdate>) -> Result<Acted, Problem> {
    let Outdate { cache, key, mode, lag } = outdate;
    let mode = match mode.as_str() {
        "expire" => Mode::Expire { retain_ms: 0 },
        "purge" => Mode::Purge,
        _ => return Err(invalid("mode", "Use expire or purge.")),
    };
    let lag_ms = match lag.trim() {
        "" => 0,
        lag => read_span(lag).map_err(|reason| invalid("lag", reason))?,
    };
    let admin = at.app.source.keel.cache_admin(&cache).map_err(|error| cache_problem("key", &error))?;
    let encode = |text: &str| utf8_percent_encode(text, SEGMENT).to_string();
    let path = format!("/caches?cache={}&key={}", encode(&cache), encode(&key));
    let outdated = Outdated { version: None, mode, lag_max: Duration::from_millis(lag_ms) };
    at.done(operations::invalidate(&admin, (&cache, &key), outdated), "", &path).await
}
