//! `/streams/{stream}/groups/{group}/dead`: the dead letters of a group, page by page; replay or delete those that match.

use super::group::confirmed;
use super::{At, key, value, why};
use crate::console::app::App;
use crate::console::pages::layout::{csrf, page};
use crate::console::pages::{answered, group_path, number, stream_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::stream_problem;
use crate::output::truncated;
use crate::time::distance;
use axum::extract::{Path, State};
use axum::response::Redirect;
use evenkeel::stream::admin::{DeadLetters, LetterFilter, LetterId, LetterPage, Replayed};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use web::{Form, Problem, Query};

/// Letters of a page.
const PAGE: usize = 50;
/// Letters that one form replays or deletes at most.
const LETTERS_MAX: usize = 10_000;
const CELL: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::console::pages) struct Choice {
    /// Part of the reason.
    q: String,
    after: String,
    done: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::console::pages) struct Chosen {
    /// Part of the reason; empty: all.
    #[serde(default)]
    q: String,
    /// Only letters that died until this time, in ms since 1970: what the page has shown.
    #[serde(default)]
    until: u64,
    /// The group's name, typed.
    #[serde(default)]
    confirm: String,
}

pub(in crate::console::pages) async fn show(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, group)): At,
    Query(choice): Query<Choice>,
) -> Result<Markup, Problem> {
    let dead = app.source.letters(&name, &group).await?;
    let after: Option<LetterId> = match choice.after.as_str() {
        "" => None,
        after => Some(after.parse().map_err(stream_problem)?),
    };
    // A viewer who searches the reasons would learn what they contain.
    let q = if visitor.sees_bodies() { choice.q.as_str() } else { "" };
    let found = dead.page(&filter(q, None), after, PAGE).await.map_err(stream_problem)?;
    let path = group_path(&name, &group);
    let body = html! {
        h1 { "Dead letters of " (group) }
        p { a href=(stream_path(&name)) { "Stream " (name) } }
        @if visitor.sees_bodies() {
            form.inline method="get" action={ (path) "/dead" } role="search" {
                div.field { label for="q" { "Reason contains" } input id="q" name="q" value=(q) autocomplete="off"; }
                button { "Find" }
            }
        }
        section.card {
            @if found.letters.is_empty() {
                div.empty {
                    @if found.next.is_some() { h3 { "No match among those that were read" } p { "There are more dead letters: go on." } }
                    @else { h3 { "No dead letter" } p { "An entry is here once its group has given it up." } }
                }
            } @else { (table(&app, &visitor, (&name, &path), &found)) }
            @if let Some(next) = found.next { p { a href={ (path) "/dead?q=" (encoded(q)) "&after=" (encoded(&next.to_string())) } { "Next page" } } }
        }
        @if !found.letters.is_empty() { (forms(&visitor, &path, &group, q, now(&app))) }
    };
    Ok(page(&app, &visitor, &group, choice.done.as_deref(), &body))
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn filter(q: &str, until: Option<u64>) -> LetterFilter {
    let error_contains = (!q.is_empty()).then(|| q.to_owned());
    LetterFilter { error_contains, died_until: until, ..LetterFilter::default() }
}

fn table(app: &App, visitor: &Visitor, (stream, path): (&str, &str), found: &LetterPage) -> Markup {
    let now = now(app);
    html! {
        div.scroll { table.rows {
            thead { tr { th scope="col" { "Id" } th scope="col" { "Died" } th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "Reason" } } }
            tbody { @for (id, letter) in &found.letters { tr {
                td.id { a href={ (path) "/dead/" (id) } { (id) } }
                td data-label="Died" { (distance(letter.id.ms, now)) }
                td data-label="Key" { (truncated(&key(visitor, &letter.key), CELL)) }
                td data-label="Value" { (truncated(&value(app, visitor, stream, letter), CELL)) }
                td data-label="Reason" { (truncated(&why(visitor, letter), CELL)) }
            } } }
        } }
    }
}

/// The store's time, by which letters die.
fn now(app: &App) -> u64 {
    app.source.keel.link().map_or_else(|| app.collector.now(), evenkeel::link::Link::server_now_ms)
}

fn forms(visitor: &Visitor, path: &str, group: &str, q: &str, until: u64) -> Markup {
    let which = if q.is_empty() { "all".to_owned() } else { format!("all with “{q}”") };
    html! {
        section.card { h2 { "Actions" } div.forms {
            @if visitor.may(Action::Redrive) {
                form method="post" action={ (path) "/dead/replay" } { (csrf(visitor)) (hidden(q, until)) button { "Replay " (which) ": they get all their attempts again" } }
            }
            @if visitor.may(Action::Delete) {
                details { summary { "Delete " (which) " …" }
                    form method="post" action={ (path) "/dead/delete" } { (csrf(visitor)) (hidden(q, until))
                        div.field { label { "No undo. Type the group's name: " strong { (group) } " " input name="confirm" required autocomplete="off"; } }
                        button.danger { "Delete" } }
                }
            }
        } }
    }
}

fn hidden(q: &str, until: u64) -> Markup {
    html! { input type="hidden" name="q" value=(q); input type="hidden" name="until" value=(until); }
}

pub(in crate::console::pages) async fn replay(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, group)): At,
    Form(chosen): Form<Chosen>,
) -> Result<Redirect, Problem> {
    let dead = app.source.letters(&name, &group).await?;
    let target = json!({ "stream": name, "group": group, "reason": chosen.q, "until": chosen.until });
    let act = async {
        let ids = matching(&dead, &chosen).await?;
        let replayed = dead.replay_all(&ids).await.map_err(stream_problem)?;
        let parked = replayed.iter().filter(|replayed| **replayed == Replayed::Parked).count();
        let appended = replayed.iter().filter(|replayed| matches!(replayed, Replayed::Appended(_))).count();
        let kept = if parked > 0 {
            format!(" {parked} of parked keys stay: later entries would overtake them.")
        } else {
            String::new()
        };
        Ok(format!("{} replayed.{kept}", number(appended as u64)))
    };
    let answer = app.act(&visitor, "replay", target, act).await?;
    app.collector.run_once().await;
    Ok(Redirect::to(&answered(&format!("{}/dead", group_path(&name, &group)), &answer)))
}

pub(in crate::console::pages) async fn delete(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, group)): At,
    Form(chosen): Form<Chosen>,
) -> Result<Redirect, Problem> {
    confirmed(&group, &chosen.confirm, "deleted")?;
    let dead = app.source.letters(&name, &group).await?;
    let target = json!({ "stream": name, "group": group, "reason": chosen.q, "until": chosen.until });
    let act = async {
        let ids = matching(&dead, &chosen).await?;
        let removed = dead.remove_all(&ids).await.map_err(stream_problem)?;
        Ok(format!("{} deleted.", number(removed.into_iter().filter(|existed| *existed).count() as u64)))
    };
    let answer = app.act(&visitor, "delete", target, act).await?;
    app.collector.run_once().await;
    Ok(Redirect::to(&answered(&format!("{}/dead", group_path(&name, &group)), &answer)))
}

/// The letters of the form, all of them before anything is changed.
async fn matching(dead: &DeadLetters, chosen: &Chosen) -> Result<Vec<LetterId>, Problem> {
    let (filter, mut ids, mut after) = (filter(&chosen.q, Some(chosen.until)), Vec::new(), None);
    while ids.len() < LETTERS_MAX {
        let page = dead.page(&filter, after, 500).await.map_err(stream_problem)?;
        ids.extend(page.letters.into_iter().map(|(id, _)| id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(ids)
}
