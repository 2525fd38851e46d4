//! `/live`: the figures of the overview as an event stream. The rights are checked for every event: a token that was deleted ends it.

use super::{FIGURES, age, figures, key, value};
use crate::console::app::App;
use crate::console::pages::operation::{is_running, progress, state};
use crate::console::rights::{Action, Via, Visitor};
use crate::console::security::session::Cookie;
use crate::kind::TOO_MANY;
use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use std::collections::BTreeMap;
use std::convert::Infallible;
use web::Problem;

/// Open streams of one console.
const STREAMS_MAX: usize = 100;

pub(crate) async fn stream(
    State(app): State<App>,
    visitor: Visitor,
    Extension(cookie): Extension<Cookie>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    if app.collector.open_pages() >= STREAMS_MAX {
        return Err(Problem::new(TOO_MANY, "100 pages are open; close one, or reload this page for newer figures."));
    }
    let (open, readings, stopping) = (app.collector.open(), app.collector.readings(), app.stopping.clone());
    let state = (app, visitor, cookie, open, readings, stopping);
    let events = unfold(state, |(app, visitor, cookie, open, mut readings, mut stopping)| async move {
        tokio::select! {
            changed = readings.changed() => changed.ok()?,
            _ = stopping.changed() => return None,
        }
        if !may_still_read(&app, &visitor, &cookie) {
            return None;
        }
        let event = Event::default().json_data(values(&app)).unwrap_or_default();
        Some((Ok(event), (app, visitor, cookie, open, readings, stopping)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

fn may_still_read(app: &App, visitor: &Visitor, cookie: &Cookie) -> bool {
    match (&app.security.login, visitor.via) {
        (Some(login), Via::Cookie) => {
            login.entry_of_cookie(cookie).is_some_and(|entry| entry.role.is_some_and(|role| role.may(Action::Read)))
        }
        _ => true,
    }
}

fn values(app: &App) -> BTreeMap<String, String> {
    let snapshot = app.collector.snapshot();
    let of_topics = snapshot.topics.iter().flat_map(|topic| {
        let names = FIGURES.iter().map(|(figure, _)| *figure).chain(["state"]);
        names.map(move |figure| (key(topic, figure), value(topic, figure)))
    });
    let operations = app.operations.all().into_iter().flat_map(|operation| {
        let key = |figure: &str| format!("{figure} {}", operation.group.name);
        let filled = format!("{}/{}", operation.done(), operation.total().unwrap_or(0));
        [
            (key("operation"), progress(&operation)),
            (key("operation-state"), state(&operation)),
            (key("operation-progress"), filled),
            (key("operation-running"), if is_running(&operation) { "yes" } else { "no" }.to_owned()),
        ]
    });
    let all = FIGURES.iter().map(|(figure, _)| ((*figure).to_owned(), figures::of_all(&snapshot, figure)));
    of_topics.chain(all).chain(operations).chain([("age".to_owned(), age(&snapshot, app.collector.now()))]).collect()
}
