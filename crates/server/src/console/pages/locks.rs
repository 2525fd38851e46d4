//! `/locks`: who holds a lock, and how many wait. Processes report the locks that they hold; Redis has no list of its locks, so finding all
//! of them is a button.

use super::layout::page;
use super::number;
use super::processes;
use crate::console::kind::invalid;
use crate::console::on::On;
use crate::console::rights::Visitor;
use crate::output::{printable, truncated};
use crate::time::span;
use evenkeel::lock::{Holder, LockError};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Kind, Problem, Query};

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

pub(super) async fn show(On { app, visitor, .. }: On<()>, Query(choice): Query<Choice>) -> Result<Markup, Problem> {
    let (keel, is_scan) = (&app.source.keel, !choice.scan.is_empty());
    let mut names = Vec::new();
    if is_scan {
        names = keel.locks_held().await.map_err(problem)?.iter().map(ToString::to_string).collect();
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
        if let Some(holder) = keel.lock(&name).inspect().await.map_err(problem)? {
            held.push((name, holder));
        }
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
            @else if !choice.q.is_empty() { div.empty { h3 { (choice.q) " is free" } p { "No process holds the lock of this name." } } }
            @else { div.empty { h3 { "Which lock?" } p { "Type its name, or find all that are held." } } }
            @if all > LOCKS_MAX { p.hint { "The first " (LOCKS_MAX) " of " (number(all as u64)) " by name. Type a name to see another." } }
        }
        @if !is_scan && choice.q.is_empty() { (processes::locks::table(&reports)) }
    };
    Ok(page(&app, &visitor, "Locks", None, &body))
}

fn table(visitor: &Visitor, held: &[(String, Holder)]) -> Markup {
    html! {
        div.scroll tabindex="0" { table.rows {
            thead { tr { th scope="col" { "Lock" } th scope="col" { "Holder" } th.number scope="col" { "Held for" } th.number scope="col" { "Lease left" } th.number scope="col" { "Processes waiting" } th.number scope="col" { "Fencing token" } } }
            tbody { @for (name, holder) in held { tr {
                td { (name) }
                td data-label="Holder" { @if visitor.sees_bodies() { (truncated(&printable(&holder.metadata), 80)) } @else { "-" } }
                td.number data-label="Held for" { (span(holder.held_ms)) }
                td.number data-label="Lease left" { @if holder.lease_left_ms == 0 { "expired; free in " (span(holder.free_in_ms)) } @else { (span(holder.lease_left_ms)) } }
                td.number data-label="Processes waiting" { (number(holder.waiting)) }
                td.number data-label="Fencing token" { (holder.fence) }
            } } }
        } }
    }
}

fn problem(error: LockError) -> Problem {
    match error {
        LockError::Invalid(reason) => invalid("q", reason),
        error => Problem::new(Kind::UNAVAILABLE, format!("{}.", error.to_string().trim_end_matches('.'))),
    }
}
