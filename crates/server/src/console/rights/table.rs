//! [`Table`]: the routes of the console, each with the action that it needs.
//!
//! A table is the only way to a router: [`Table::into_router`] is private to the console's server, and no method adds a route without an
//! action. `evenkeel serve --routes` prints the rows, from which the tests enumerate every route with every role.

use super::Action;
use super::guard::{Gate, guard};
use crate::console::app::App;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use serde::Serialize;

/// Maximum size of the body of a call of the API. Forms are smaller.
pub(crate) const API_BODY_BYTES_MAX: usize = 8 << 20;

/// How a route is called, which decides how an unsafe request proves where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A page: `GET` from a browser.
    Page,
    /// A form of a page: `POST` from a browser, with the CSRF token of its cookie and our own `Origin`.
    Form,
    /// An event stream of a page.
    Stream,
    /// Health checks, metrics, assets.
    Plain,
    /// `GET` of the JSON API.
    ApiRead,
    /// `POST` of the JSON API: with a token in `Authorization`, or on loopback as JSON that no page of another site sends.
    ApiAct,
}

impl Kind {
    /// Whether a program calls it, and not a browser.
    pub(super) fn is_api(self) -> bool {
        matches!(self, Self::ApiRead | Self::ApiAct)
    }
}

/// One route.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Row {
    method: &'static str,
    path: &'static str,
    pub(super) kind: Kind,
    pub(super) action: Action,
}

/// The routes; see the module.
pub(crate) struct Table {
    app: App,
    rows: Vec<Row>,
    router: Router<App>,
}

impl Table {
    pub(crate) fn new(app: App) -> Self {
        Self { app, rows: Vec::new(), router: Router::new() }
    }

    /// `GET` of a page.
    pub(crate) fn page<H: Handler<T, App>, T: 'static>(self, path: &'static str, action: Action, handler: H) -> Self {
        self.add("GET", path, Kind::Page, action, get(handler))
    }

    /// `POST` of a form.
    pub(crate) fn form<H: Handler<T, App>, T: 'static>(self, path: &'static str, action: Action, handler: H) -> Self {
        self.add("POST", path, Kind::Form, action, post(handler))
    }

    /// `GET` of an event stream.
    pub(crate) fn stream<H: Handler<T, App>, T: 'static>(self, path: &'static str, action: Action, handler: H) -> Self {
        self.add("GET", path, Kind::Stream, action, get(handler))
    }

    /// `GET` of something that is neither a page nor the API.
    pub(crate) fn plain<H: Handler<T, App>, T: 'static>(self, path: &'static str, action: Action, handler: H) -> Self {
        self.add("GET", path, Kind::Plain, action, get(handler))
    }

    /// `GET` of the JSON API.
    pub(crate) fn api_read<H: Handler<T, App>, T: 'static>(
        self,
        path: &'static str,
        action: Action,
        handler: H,
    ) -> Self {
        self.add("GET", path, Kind::ApiRead, action, get(handler))
    }

    /// `POST` of the JSON API.
    pub(crate) fn api_act<H: Handler<T, App>, T: 'static>(
        self,
        path: &'static str,
        action: Action,
        handler: H,
    ) -> Self {
        let limit = DefaultBodyLimit::max(API_BODY_BYTES_MAX);
        self.add("POST", path, Kind::ApiAct, action, post(handler).layer(limit))
    }

    fn add(
        mut self,
        method: &'static str,
        path: &'static str,
        kind: Kind,
        action: Action,
        handler: MethodRouter<App>,
    ) -> Self {
        let row = Row { method, path, kind, action };
        self.rows.push(row);
        let gate = Gate { app: self.app.clone(), row };
        self.router = self.router.route(path, handler.layer(from_fn_with_state(gate, guard)));
        self
    }

    /// The routes as JSON, one object a line.
    pub(crate) fn lines(&self) -> String {
        self.rows.iter().filter_map(|row| serde_json::to_string(row).ok()).map(|row| row + "\n").collect()
    }

    /// The router, with responses for unknown paths and methods.
    pub(crate) fn into_router(self) -> Router<App> {
        self.router
            .fallback(async || StatusCode::NOT_FOUND)
            .method_not_allowed_fallback(async || StatusCode::METHOD_NOT_ALLOWED)
    }
}
