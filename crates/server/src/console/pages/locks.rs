//! `/locks`: who holds a lock, and how many wait. Processes report the locks that they hold; Redis has no list of its locks, so finding all
//! of them is a button. Admins break one.

use super::layout::{csrf, page};
use super::wrapping::wrapping;
use super::{Acted, SEGMENT, number, processes};
use crate::console::on::On;
use crate::console::rights::{Action, Visitor};
use crate::kind::invalid;
use crate::operations::failure::lock_problem;
use crate::operations::lock;
use crate::output::{printable, truncated};
use crate::time::span;
use evenkeel::lock::{Holder, LockName};
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use web::{Form, Problem, Query};

/// Locks that one page inspects.
const LOCKS_MAX: usize = 100;
const NAME_MAX: usize = 512;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Choice {
    /// The lock to inspect.
    q: String,
    /// Whether to look for all that are held.
    scan: String,
}

#[derive(Deserialize)]
pub(super) struct Breaking {
    name: String,
    /// The fencing token of the holder that the page has shown.
    fence: u64,
    /// The lock's name, typed.
    #[serde(default)]
    confirm: String,
}

pub(super) async fn show(On { app, visitor, .. }: On<()>, Query(choice): Query<Choice>) -> Result<Markup, Problem> {
    let (keel, is_scan) = (&app.source.keel, !choice.scan.is_empty());
    let mut names = Vec::new();
    if is_scan {
        names = keel.locks_held().await.map_err(lock_problem)?.iter().map(ToString::to_string).collect();
    } else if !choice.q.is_empty() {
        if choice.q.len() > NAME_MAX {
            return Err(invalid("q", "The name of a lock has at most 512 bytes."));
        }
        names.push(choice.q.clone());
    }
    let all = names.len();
    names.truncate(LOCKS_MAX);
    let mut held = Vec::with_capacity(names.len());
    for name in names {
        // It may have been released since it was found.
        if let Some(holder) = keel.lock(&name).inspect().await.map_err(lock_problem)? {
            held.push((name, holder));
        }
    }
    if let (true, Some(shown)) = (held.is_empty() && !is_scan, LockName::shown_as(&choice.q)) {
        let holder = keel.lock(shown.as_str()).inspect().await.map_err(lock_problem)?;
        held.extend(holder.map(|holder| (shown.to_string(), holder)));
    }
    let reports = app.collector.reports().await;
    let body = html! {
        h1 { "Locks" }
        form.inline method="get" action="/locks" role="search" {
            div.field { label for="q" { "Name of a lock" } input id="q" name="q" value=(choice.q) maxlength=(NAME_MAX) autocomplete="off"; }
            button { "Inspect" }
        }
        form.inline method="get" action="/locks" {
            input type="hidden" name="scan" value="1";
            button { "Find held locks" } span.hint { "Scans all keys of the server, in small steps." }
        }
        section.card {
            @if !held.is_empty() { (table(&visitor, &held)) }
            @else if is_scan { div.empty { h3 { "No lock is held" } p { "A lock is here while a program holds it, and for its lock delay after that." } } }
            @else if !choice.q.is_empty() { div.empty { h3 { (wrapping(&choice.q)) " is free" } p { "No process holds the lock of this name." } } }
            @else { div.empty { h3 { "Which lock?" } p { "Type its name, or find all that are held." } } }
            @if all > LOCKS_MAX { p.hint { "The first " (LOCKS_MAX) " of " (number(all as u64)) " by name. Type a name to see another." } }
        }
        @if !is_scan && choice.q.is_empty() { (processes::locks::table(&reports)) }
    };
    Ok(page(&app, &visitor, "Locks", &body))
}

fn table(visitor: &Visitor, held: &[(String, Holder)]) -> Markup {
    html! {
        div.scroll tabindex="0" { table.rows.many {
            thead { tr { th scope="col" { "Lock" } th scope="col" { "Holder" } th.number scope="col" { "Held for" } th.number scope="col" { "Lease left" } th.number scope="col" { "Processes waiting" } th.number scope="col" { "Fencing token" } } }
            tbody { @for (name, holder) in held { tr {
                td { (wrapping(name)) @if visitor.may(Action::Break) { (break_form(visitor, name, holder)) } }
                td data-label="Holder" { @if visitor.sees_bodies() { (wrapping(&truncated(&printable(&holder.metadata), 80))) } @else { "-" } }
                td.number data-label="Held for" { (span(holder.held_ms)) }
                td.number data-label="Lease left" { @if holder.lease_left_ms == 0 { "expired; free in " (span(holder.free_in_ms)) } @else { (span(holder.lease_left_ms)) } }
                td.number data-label="Processes waiting" { (number(holder.waiting)) }
                td.number data-label="Fencing token" { (holder.fence) }
            } } }
        } }
    }
}

/// The form that takes the lock away from the holder that is shown.
fn break_form(visitor: &Visitor, name: &str, holder: &Holder) -> Markup {
    let typed = visitor.typed("/locks/break").with("name", name);
    html! {
        details open[typed.is_rejected()] { summary { "Break …" }
            p.hint { "The holder may still be working, and learns of it at its next renewal. Until then only fencing tokens prevent its writes." }
            form method="post" action="/locks/break" { (csrf(visitor))
                input type="hidden" name="name" value=(name); input type="hidden" name="fence" value=(holder.fence);
                div.field { label { "Type the lock's name: " strong { (name) } " " (typed.input("confirm", true)) } }
                button.danger { "Break" } }
        }
    }
}

pub(super) async fn break_lock(at: On<()>, Form(form): Form<Breaking>) -> Result<Acted, Problem> {
    let Breaking { name, fence, confirm } = form;
    let broken = at.perform(lock::break_lock(&at.app.source.keel, &name, fence), &confirm).await?;
    let path = format!("/locks?q={}", utf8_percent_encode(&name, SEGMENT));
    Ok(at.to(&path, format!("{name} {}.", broken.text())).await)
}
