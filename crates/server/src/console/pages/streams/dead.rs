//! `/streams/{stream}/groups/{group}/dead`: the dead letters of a group, page by page; replay or delete those that match.

use super::{OnStream, StreamNames, key, value, why};
use crate::console::app::App;
use crate::console::pages::layout::{DELETE, confirm_form, csrf, page};
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{Acted, number, stream_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::stream_problem;
use crate::operations::stream_dead::{self, Tally};
use crate::operations::{Answers, Operation};
use crate::output::truncated;
use crate::stream::letters::{self, Matching};
use crate::time::distance;
use evenkeel::stream::admin::{DeadLetters, LetterFilter, LetterId, LetterPage};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Form, Problem, Query};

/// Letters of a page.
const PAGE: usize = 50;
/// Letters that one form replays or deletes at most.
const LETTERS_MAX: usize = 10_000;
const CELL: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Choice {
    /// Part of the reason.
    q: String,
    after: String,
}

#[derive(Deserialize)]
pub(crate) struct Chosen {
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

pub(crate) async fn show(at: OnStream, Query(choice): Query<Choice>) -> Result<Markup, Problem> {
    let (dead, path) = (at.letters().await?, at.names.path());
    let OnStream { app, visitor, names: StreamNames { stream, group, .. } } = at;
    let after: Option<LetterId> = match choice.after.as_str() {
        "" => None,
        after => Some(after.parse().map_err(stream_problem)?),
    };
    // A viewer who searches the reasons would learn what they contain.
    let q = if visitor.sees_bodies() { choice.q.as_str() } else { "" };
    let found = letters::page(&dead, &filter(q, None), after, PAGE).await.map_err(stream_problem)?;
    let body = html! {
        h1 { "Dead letters of " (wrapping(&group)) }
        p { a href=(stream_path(&stream)) { "Stream " (stream) } }
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
            } @else { (table(&app, &visitor, (&stream, &path), &found)) }
            @if let Some(next) = found.next { p { a href={ (path) "/dead?q=" (encoded(q)) "&after=" (encoded(&next.to_string())) } { "Next page" } } }
        }
        @if !found.letters.is_empty() { (forms(&visitor, &path, &group, q, app.store_now())) }
    };
    Ok(page(&app, &visitor, &group, &body))
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn filter(q: &str, until: Option<u64>) -> LetterFilter {
    let error_contains = (!q.is_empty()).then(|| q.to_owned());
    LetterFilter { error_contains, died_until: until, ..LetterFilter::default() }
}

fn table(app: &App, visitor: &Visitor, (stream, path): (&str, &str), found: &LetterPage) -> Markup {
    let now = app.store_now();
    html! {
        div.scroll { table.rows {
            thead { tr { th scope="col" { "Id" } th scope="col" { "Died" } th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "Reason" } } }
            tbody { @for (id, letter) in &found.letters { tr {
                td.id { a href={ (path) "/dead/" (id) } { (id) } }
                td data-label="Died" { (distance(letter.id.ms, now)) }
                td data-label="Key" { (wrapping(&truncated(&key(visitor, &letter.key), CELL))) }
                td data-label="Value" { (wrapping(&truncated(&value(app, visitor, stream, letter), CELL))) }
                td data-label="Reason" { (wrapping(&truncated(&why(visitor, letter), CELL))) }
            } } }
        } }
    }
}

fn forms(visitor: &Visitor, path: &str, group: &str, q: &str, until: u64) -> Markup {
    let hidden = html! { (csrf(visitor)) input type="hidden" name="q" value=(q); input type="hidden" name="until" value=(until); };
    let which = if q.is_empty() { "all".to_owned() } else { format!("all with “{q}”") };
    html! {
        section.card { h2 { "Actions" } div.forms {
            @if visitor.may(Action::Redrive) {
                @let (summary, replay) = (format!("Replay {which} …"), format!("{path}/dead/replay"));
                (confirm_form((&summary, &replay), &hidden, ("group", group), visitor.typed(&replay), ("They get all their attempts again", "Replay")))
            }
            @if visitor.may(Action::Delete) {
                @let (summary, delete) = (format!("Delete {which} …"), format!("{path}/dead/delete"));
                (confirm_form((&summary, &delete), &hidden, ("group", group), visitor.typed(&delete), DELETE))
            }
        } }
    }
}

pub(crate) async fn replay(at: OnStream, Form(chosen): Form<Chosen>) -> Result<Acted, Problem> {
    let dead = at.letters().await?;
    let Matching { ids, is_cut } = matching(&dead, &chosen).await?;
    let replay = chosen.described(stream_dead::replay(&dead, at.names.group(), &ids, true));
    let replayed = at.perform(replay, &chosen.confirm).await?;
    let answer = format!("{}.{}", Tally::of(&replayed).lines().join("; "), rest(is_cut));
    Ok(at.to(&format!("{}/dead", at.names.path()), answer).await)
}

pub(crate) async fn delete(at: OnStream, Form(chosen): Form<Chosen>) -> Result<Acted, Problem> {
    let dead = at.letters().await?;
    let Matching { ids, is_cut } = matching(&dead, &chosen).await?;
    let delete = chosen.described(stream_dead::delete(&dead, at.names.group(), &ids));
    let deleted = at.perform(delete, &chosen.confirm).await?.done();
    let answer = format!("{} deleted.{}", number(deleted as u64), rest(is_cut));
    Ok(at.to(&format!("{}/dead", at.names.path()), answer).await)
}

impl Chosen {
    /// With what was chosen, for the audit log.
    fn described<'a>(&self, operation: Operation<'a, Answers>) -> Operation<'a, Answers> {
        operation.with("reason", self.q.as_str()).with("until", self.until)
    }
}

/// The letters of the form, all of them before anything is changed.
async fn matching(dead: &DeadLetters, chosen: &Chosen) -> Result<Matching, Problem> {
    letters::matching(dead, &filter(&chosen.q, Some(chosen.until)), LETTERS_MAX).await.map_err(stream_problem)
}

/// What a form has left over.
fn rest(is_cut: bool) -> String {
    if !is_cut {
        return String::new();
    }
    format!(" There are more: a form takes {} at a time; send it again for the next.", number(LETTERS_MAX as u64))
}
