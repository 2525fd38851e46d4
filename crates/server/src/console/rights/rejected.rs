//! [`Rejected`]: a form that was rejected. Its page is shown again with the reason and with what was typed.

use crate::console::app::App;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use maud::{Markup, html};
use std::sync::Arc;
use url::form_urlencoded;
use web::Problem;

/// The name of the form field with the address of the form's page.
pub(crate) const PAGE_FIELD: &str = "page";

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Rejected {
    /// The path to which the form was sent.
    pub(super) action: String,
    fields: Vec<(String, String)>,
    pub(crate) problem: Problem,
}

/// The fields of one form of a page: as they were typed, if the form was rejected, otherwise empty.
#[derive(Clone, Copy)]
pub(crate) struct Typed<'a>(pub(super) Option<&'a Rejected>);

impl Rejected {
    pub(super) fn new(action: &str, body: &[u8], problem: Problem) -> Self {
        let fields = form_urlencoded::parse(body).into_owned().collect();
        Self { action: action.to_owned(), fields, problem }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The form's page, with the status of the problem; `None`: the form names no page, or it cannot be shown.
    pub(super) async fn page(self, app: &App, headers: &HeaderMap) -> Option<Response> {
        let accepts = headers.get(header::ACCEPT)?.to_str().ok()?;
        let page = self.field(PAGE_FIELD).filter(|page| page.starts_with('/') && accepts.contains("text/html"))?;
        let mut request = Request::get(page).body(Body::empty()).ok()?;
        for name in [header::HOST, header::COOKIE, header::AUTHORIZATION, header::ACCEPT] {
            request.headers_mut().extend(headers.get(&name).map(|value| (name, value.clone())));
        }
        let status = self.problem.status();
        request.extensions_mut().insert(Arc::new(self));
        let router = TowerToHyperService::new(app.router.get()?.clone());
        let Ok(mut response) = router.call(request).await;
        if response.status() != StatusCode::OK {
            return None;
        }
        *response.status_mut() = status;
        Some(response)
    }
}

impl<'a> Typed<'a> {
    /// The same if `field` has this value: a page may have several forms with one address.
    pub(crate) fn with(self, field: &str, value: &str) -> Self {
        Self(self.0.filter(|rejected| rejected.field(field) == Some(value)))
    }

    pub(crate) fn is_rejected(self) -> bool {
        self.0.is_some()
    }

    /// What was typed into a field.
    pub(crate) fn field(self, name: &str) -> Option<&'a str> {
        self.0?.field(name)
    }

    /// Whether a field is the reason.
    pub(crate) fn is_wrong(self, name: &str) -> bool {
        self.0.is_some_and(|rejected| rejected.problem.errors().iter().any(|error| error.field == name))
    }

    /// A field for a line of text.
    pub(crate) fn input(self, name: &str, is_required: bool) -> Markup {
        let is_wrong = self.is_wrong(name);
        html! { input name=(name) value=[self.field(name)] required[is_required] autofocus[is_wrong] aria-invalid=[is_wrong.then_some("true")] autocomplete="off"; }
    }
}
