//! `/queues/{topic}/dead`: the dead letters in groups by error; redrive and delete a group.
//!
//! The page reads the newest 2,000, or on request 10,000, without their bodies, and says so. An action takes what the page has shown: letters that
//! died since, and older ones than were read, are not touched.

use super::on_topic::{OnTopic, TopicNames};
use super::queue::tabs;
use super::rows::{Row, table};
use crate::console::kind::{PARTIAL, invalid};
use crate::console::operations::Plan;
use crate::console::pages::layout::{csrf, delete_form, page};
use crate::console::pages::{number, topic_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::{queue_problem, shards_problem};
use crate::output::{printable, truncated};
use axum::response::Redirect;
use evenkeel::queue::topic::{Filter, JobState, Preview, PreviewPage, Previewed, Topic};
use evenkeel::queue::{JobId, Listed};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use web::{Form, Problem, Query, hex};

/// What the page reads without a request for more, and what one request reads at most.
const SHOWN_MAX: usize = 2_000;
pub(in crate::console) const LETTERS_MAX: usize = 10_000;
const TIME_MAX: Duration = Duration::from_secs(2);
/// A page of previews reads at most 4 MiB.
const PAGE: usize = 500;
/// Letters that are listed below the groups.
const FIRST: usize = 20;
/// Letters that are sent back before the form is answered; more are an operation.
const AT_ONCE_MAX: usize = 500;
const RATE_MAX: u32 = 10_000;

#[derive(Deserialize)]
pub(in crate::console::pages) struct Choice {
    /// The group, as the page names it.
    group: String,
    /// Only letters that died until this time, in ms since 1970.
    until: u64,
    /// Only the newest ones of them, as many as the page has read.
    #[serde(default = "all")]
    limit: usize,
    /// The same for a form that is sent again.
    #[serde(default)]
    name: String,
    /// Letters per second; empty: at once.
    #[serde(default)]
    rate: String,
    /// The topic's name, typed.
    #[serde(default)]
    confirm: String,
}

/// How many letters the page reads, and the answer of the action that led to it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::console::pages) struct Shown {
    limit: Option<usize>,
    done: Option<String>,
}

/// What was read.
#[derive(Default)]
pub(in crate::console) struct Read {
    pub(in crate::console) groups: BTreeMap<String, Vec<JobId>>,
    first: Vec<Previewed>,
    pub(in crate::console) read: usize,
    pub(in crate::console) is_cut: bool,
    pub(in crate::console) until: u64,
}

pub(in crate::console::pages) async fn show(
    at: OnTopic,
    Query(Shown { limit, done }): Query<Shown>,
) -> Result<Markup, Problem> {
    let limit = checked(limit.unwrap_or(SHOWN_MAX))?;
    let topic = at.topic().await?;
    let OnTopic { app, visitor, names: TopicNames { topic: name, .. } } = at;
    let read = read(&topic, u64::MAX, limit).await?;
    let mut groups: Vec<(&String, usize)> = read.groups.iter().map(|(group, ids)| (group, ids.len())).collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows: Vec<Row> = read.first.iter().map(|letter| Row::of_preview(&app, &visitor, &name, letter)).collect();
    let path = topic_path(&name);
    let body = html! {
        h1 { (name) }
        (tabs(&path, "/dead"))
        section.card {
            h2 { "Dead letters by error" }
            @if read.read == 0 { div.empty { h3 { "No dead letters" } p { "A job is here after its last attempt has failed." } } }
            @if read.is_cut { p.hint { "The newest " (number(read.read as u64)) " were read; there are more. "
                @if limit < LETTERS_MAX { a href={ (path) "/dead?limit=" (LETTERS_MAX) } { "Read " (number(LETTERS_MAX as u64)) } } } }
            @for (group, count) in groups { (group_row(&visitor, &name, (group, count), (read.until, limit))) }
        }
        @if !read.first.is_empty() {
            section.card { h2 { "The newest" } (table(&name, &rows, "Died", topic.now_ms()))
                div.pages { a href={ (path) "/jobs?state=dead" } { "All, page by page" } } }
        }
    };
    Ok(page(&app, &visitor, &format!("Dead letters of {name}"), done.as_deref(), &body))
}

fn group_row(visitor: &Visitor, topic: &str, (group, count): (&str, usize), (until, limit): (u64, usize)) -> Markup {
    let path = topic_path(topic);
    let hidden = html! { (csrf(visitor)) input type="hidden" name="group" value=(group); input type="hidden" name="until" value=(until); input type="hidden" name="limit" value=(limit); };
    let name = hex(&rand::random::<[u8; 8]>());
    html! {
        div.forms {
            h3 { (group) " " span.badge { (number(count as u64)) } }
            @if visitor.may(Action::Redrive) {
                form method="post" action={ (path) "/dead/redrive" } { (hidden) input type="hidden" name="name" value=(name);
                    div.field.rate { label { "Per second " small { "(empty: at once)" } " " input name="rate" inputmode="numeric" autocomplete="off" size="6"; } }
                    button { "Redrive " (number(count as u64)) } }
            }
            @if visitor.may(Action::Delete) {
                (delete_form(&format!("Delete {} …", number(count as u64)), &format!("{path}/dead/delete"), &hidden, ("topic", topic)))
            }
        }
    }
}

fn all() -> usize {
    LETTERS_MAX
}

fn checked(limit: usize) -> Result<usize, Problem> {
    if (1..=LETTERS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(invalid("limit", format!("`limit` must be 1 to {LETTERS_MAX}. Nothing was changed.")))
}

/// Reads the newest dead letters that died until `until`, at most `limit`.
pub(in crate::console) async fn read(topic: &Topic, until: u64, limit: usize) -> Result<Read, Problem> {
    let now = topic.now_ms();
    let (mut read, start) = (Read { until: now.min(until), ..Read::default() }, Instant::now());
    // Jobs that died at `until` itself count.
    let mut before = Some(Listed { score: read.until.saturating_add(1), id: JobId([0; 16]) });
    loop {
        let page = topic.previews(JobState::Dead, before, PAGE.min(limit - read.read)).await.map_err(queue_problem)?;
        before = page.next;
        read.add(page);
        if before.is_none() {
            return Ok(read);
        }
        if read.read >= limit || start.elapsed() >= TIME_MAX {
            read.is_cut = true;
            return Ok(read);
        }
    }
}

impl Read {
    fn add(&mut self, page: PreviewPage) {
        for letter in page.jobs {
            let group = match &letter.preview {
                Preview::Live { job, .. } => job
                    .error_notes()
                    .last()
                    .map_or_else(|| "no error".to_owned(), |error| fingerprint(&printable(&error.text))),
                Preview::Unreadable(_) => "written by a newer program".to_owned(),
                Preview::Ended(_) => continue,
            };
            self.groups.entry(group).or_default().push(letter.listed.id);
            self.read += 1;
            if self.first.len() < FIRST {
                self.first.push(letter);
            }
        }
    }
}

/// An error without what differs between jobs: numbers, and hexadecimal ids of at least eight digits.
fn fingerprint(error: &str) -> String {
    let words = error.split_whitespace().map(|word| {
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let digits = core.bytes().filter(u8::is_ascii_digit).count();
        let is_id = core.len() >= 8 && digits > 0 && core.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if digits > 0 && digits == core.len() || is_id { word.replace(core, "NUMBER") } else { word.to_owned() }
    });
    let text = truncated(&words.collect::<Vec<_>>().join(" "), 120);
    if text.is_empty() { "no message".to_owned() } else { text }
}

pub(in crate::console::pages) async fn redrive(at: OnTopic, Form(choice): Form<Choice>) -> Result<Redirect, Problem> {
    if choice.name.len() != 16 || !choice.name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let detail = "The form has no name for this redrive: reload the page and send it again.";
        return Err(invalid("name", detail));
    }
    let rate = rate(choice.rate.trim())?;
    let operation = format!("/operations/{}", choice.name);
    if at.app.operations.get(&choice.name).is_some() {
        return Ok(Redirect::to(&operation));
    }
    let limit = checked(choice.limit)?;
    let topic = at.topic().await?;
    let target = json!({ "topic": at.names.topic, "group": choice.group, "until": choice.until, "rate": rate });
    let ids = read(&topic, choice.until, limit).await?.groups.remove(&choice.group).unwrap_or_default();
    if rate.is_some() || ids.len() > AT_ONCE_MAX {
        let Choice { group, until, name, .. } = choice;
        at.app.operations.begin(&at.app, &at.visitor, Plan { name, topic, group, ids, until, rate, target });
        return Ok(Redirect::to(&operation));
    }
    let act = async {
        let filter = Filter { died_until: Some(choice.until), ..Filter::default() };
        // A letter that an earlier click of this form has sent back is no longer dead, or died after `until`.
        let name = format!("console {}", hex(&rand::random::<[u8; 8]>()));
        let report = topic.redrive(&name).filter(filter).only(ids).run().await.map_err(shards_problem)?;
        Ok(format!("{} redriven: they wait with all their attempts.", number(report.taken)))
    };
    at.acted(("redrive", target), &format!("{}/dead", at.path()), act).await
}

fn rate(text: &str) -> Result<Option<u32>, Problem> {
    match text.parse() {
        Ok(rate) if (1..=RATE_MAX).contains(&rate) => Ok(Some(rate)),
        Err(_) if text.is_empty() => Ok(None),
        _ => Err(invalid("rate", format!("Use a whole number from 1 to {RATE_MAX}, or nothing."))),
    }
}

pub(in crate::console::pages) async fn delete(at: OnTopic, Form(choice): Form<Choice>) -> Result<Redirect, Problem> {
    at.confirmed(&choice.confirm)?;
    let limit = checked(choice.limit)?;
    let topic = at.topic().await?;
    let target = json!({ "topic": at.names.topic, "group": choice.group, "until": choice.until });
    let act = async {
        let deleted = delete_group(&topic, &choice.group, (choice.until, limit)).await?;
        Ok(format!("{} deleted.", number(deleted as u64)))
    };
    at.acted(("delete", target), &format!("{}/dead", at.path()), act).await
}

/// Deletes the letters of a group among the newest `limit` that died until `until`. Returns their number.
pub(in crate::console) async fn delete_group(
    topic: &Topic,
    group: &str,
    (until, limit): (u64, usize),
) -> Result<usize, Problem> {
    let ids = read(topic, until, limit).await?.groups.remove(group).unwrap_or_default();
    let mut deleted = 0;
    for some in ids.chunks(PAGE) {
        let answers = topic.delete_dead(some).await.map_err(|error| {
            let problem = shards_problem(error);
            let detail = format!("{} {deleted} of {} were deleted before.", problem.detail(), ids.len());
            if deleted > 0 { Problem::new(PARTIAL, detail) } else { problem }
        })?;
        deleted += answers.into_iter().filter(|was_dead| *was_dead).count();
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn errors_that_differ_in_numbers_are_one_group() {
        assert_eq!(fingerprint("smtp refused 451 for job 0192f3aa-0b1c"), "smtp refused NUMBER for job NUMBER");
        assert_eq!(fingerprint("timeout after 30 s (attempt 2)"), "timeout after NUMBER s (attempt NUMBER)");
        assert_eq!((fingerprint(""), fingerprint("bad feed")), ("no message".to_owned(), "bad feed".to_owned()));
    }
}
