//! The pages. Rendered on the server; they work without JavaScript, which only updates figures.

mod caches;
mod docs;
mod layout;
mod link;
pub(crate) mod locks;
mod log;
mod login;
mod operation;
mod outbox;
mod overview;
mod pause;
mod processes;
pub(crate) mod queues;
mod setup;
pub(crate) mod streams;
mod wrapping;

pub(crate) use layout::problem_page;
pub(crate) use web::grouped as number;

use super::on::On;
use super::rights::{Action, Notice, Table};
use crate::operations::{Done, Operation};
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use queues::{dead, job, jobs, letter, queue};
use rust_embed::RustEmbed;
use serde::Deserialize;
use web::{Problem, asset};

/// The embedded assets.
#[derive(RustEmbed)]
#[folder = "assets/"]
pub(crate) struct Assets;

/// What stands unencoded in one segment of a path.
pub(crate) const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a form sends whose visitor has to type the name of the topic or the group.
#[derive(Deserialize)]
pub(crate) struct Confirmed {
    #[serde(default)]
    confirm: String,
}

/// Adds the routes of the pages.
pub(crate) fn routes(table: Table) -> Table {
    table
        .page("/", Action::Read, overview::show)
        .stream("/live", Action::Read, overview::live::stream)
        .page("/queues/{topic}", Action::Read, queue::show)
        .form("/queues/{topic}/pause", Action::Pause, queue::pause)
        .form("/queues/{topic}/resume", Action::Pause, queue::resume)
        .page("/queues/{topic}/jobs", Action::Read, jobs::show)
        .page("/queues/{topic}/jobs/{id}", Action::Read, job::show)
        .form("/queues/{topic}/jobs/{id}/run", Action::Run, job::run_now)
        .form("/queues/{topic}/jobs/{id}/reschedule", Action::Reschedule, job::reschedule)
        .form("/queues/{topic}/jobs/{id}/revoke", Action::Revoke, job::revoke)
        .form("/queues/{topic}/jobs/{id}/edit", Action::Edit, letter::edit)
        .form("/queues/{topic}/jobs/{id}/redrive", Action::Redrive, letter::redrive)
        .form("/queues/{topic}/jobs/{id}/delete", Action::Delete, letter::delete)
        .page("/operations", Action::Read, operation::list)
        .page("/operations/{id}", Action::Read, operation::show)
        .form("/operations/{id}/stop", Action::Redrive, operation::stop)
        .page("/queues/{topic}/dead", Action::Read, dead::show)
        .form("/queues/{topic}/dead/redrive", Action::Redrive, dead::redrive)
        .form("/queues/{topic}/dead/delete", Action::Delete, dead::delete)
        .page("/streams", Action::Read, streams::list::show)
        .page("/streams/{stream}", Action::Read, streams::stream::show)
        .form("/streams/{stream}/groups/{group}/pause", Action::Pause, streams::group::pause)
        .form("/streams/{stream}/groups/{group}/resume", Action::Pause, streams::group::resume)
        .form("/streams/{stream}/groups/{group}/seek", Action::Seek, streams::group::seek)
        .form("/streams/{stream}/groups/{group}/unregister", Action::Unregister, streams::group::unregister)
        .page("/streams/{stream}/groups/{group}/dead", Action::Read, streams::dead::show)
        .form("/streams/{stream}/groups/{group}/dead/replay", Action::Redrive, streams::dead::replay)
        .form("/streams/{stream}/groups/{group}/dead/delete", Action::Delete, streams::dead::delete)
        .page("/streams/{stream}/groups/{group}/dead/{id}", Action::Read, streams::letter::show)
        .form("/streams/{stream}/groups/{group}/dead/{id}/replay", Action::Redrive, streams::letter::replay)
        .form("/streams/{stream}/groups/{group}/dead/{id}/delete", Action::Delete, streams::letter::delete)
        .page("/caches", Action::Read, caches::show)
        .form("/caches/invalidate", Action::Invalidate, caches::invalidate)
        .page("/locks", Action::Read, locks::show)
        .form("/locks/break", Action::Break, locks::break_lock)
        .page("/workers", Action::Read, processes::workers::show)
        .page("/schedules", Action::Read, processes::schedules::show)
        .page("/link", Action::Read, link::show)
        .page("/log", Action::Log, log::show)
        .page("/setup", Action::Setup, setup::show)
        .form("/setup/check", Action::Setup, setup::check)
        .page("/outbox", Action::Read, outbox::show)
        .form("/outbox/resend", Action::Resend, outbox::resend)
        .form("/outbox/skip", Action::Skip, outbox::skip)
        .form("/inbox/resend", Action::Resend, outbox::run_message)
        .form("/inbox/skip", Action::Skip, outbox::skip_message)
        .page("/docs", Action::Public, docs::show)
        .page("/login", Action::Public, login::show)
        .form("/login", Action::Public, login::login)
        .form("/logout", Action::Public, login::logout)
        .plain("/assets/{file}", Action::Public, asset::serve::<Assets>)
}

/// The path of a topic's page.
pub(crate) fn topic_path(topic: &str) -> String {
    format!("/queues/{}", utf8_percent_encode(topic, SEGMENT))
}

/// The path of a stream's page.
pub(crate) fn stream_path(stream: &str) -> String {
    format!("/streams/{}", utf8_percent_encode(stream, SEGMENT))
}

/// The path below which the pages of a group are.
pub(crate) fn group_path(stream: &str, group: &str) -> String {
    format!("{}/groups/{}", stream_path(stream), utf8_percent_encode(group, SEGMENT))
}

/// The response of a form: the way to a page, which shows the answer of the action, if there is one.
pub(crate) struct Acted {
    path: String,
    answer: Option<String>,
}

impl Acted {
    fn new(path: impl Into<String>, answer: impl Into<String>) -> Self {
        Self { path: path.into(), answer: Some(answer.into()) }
    }

    /// Without an answer.
    fn to(path: impl Into<String>) -> Self {
        Self { path: path.into(), answer: None }
    }
}

impl IntoResponse for Acted {
    fn into_response(self) -> Response {
        let mut response = Redirect::to(&self.path).into_response();
        if let Some(answer) = self.answer {
            response.extensions_mut().insert(Notice(answer));
        }
        response
    }
}

impl<N> On<N> {
    /// Does an operation on one thing, and leads to the page at `path`, which shows the answer and new figures.
    async fn done(&self, operation: Operation<'_>, typed: &str, path: &str) -> Result<Acted, Problem> {
        let Done { text, .. } = self.perform(operation, typed).await?;
        Ok(self.to(path, text).await)
    }

    /// Leads to the page at `path`, which shows the answer and new figures.
    async fn to(&self, path: &str, answer: String) -> Acted {
        self.app.collector.run_once().await;
        Acted::new(path, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_paths_are_readable() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(topic_path("a/b <c>"), "/queues/a%2Fb%20%3Cc%3E");
    }
}
