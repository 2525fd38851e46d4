//! [`FastPath`]: answers redirects from the near cache before the router.
//!
//! Most requests are visits of recently visited links. For those, the router and its middleware would cost more than the response
//! itself. Every other request goes through the router; both give the same responses.

use super::app::App;
use super::redirect;
use super::route::Route;
use axum::Router;
use axum::http::{HeaderValue, Method, Request, header};
use axum::response::Response;
use futures_util::future::{Either, Ready, ready};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::{TowerToHyperService, TowerToHyperServiceFuture};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;
use tracing::Level;
use web::{Consistency, HttpMetrics, ShortId, X_CONSISTENCY_STATE, X_SHORT_ID};

/// The service of a connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct FastPath {
    app: App,
    metrics: Arc<HttpMetrics<Route>>,
    router: TowerToHyperService<Router>,
}

impl FastPath {
    pub(super) fn new(app: App, metrics: Arc<HttpMetrics<Route>>, router: Router) -> Self {
        Self { app, metrics, router: TowerToHyperService::new(router) }
    }

    /// The redirect, if the near cache has it. With debug logging all requests go through the router, which logs them.
    fn near<B>(&self, request: &Request<B>) -> Option<Response> {
        let has_one_host = request.headers().get_all(header::HOST).iter().count() == 1;
        if request.method() != Method::GET || !has_one_host || tracing::enabled!(Level::DEBUG) {
            return None;
        }
        let started = Instant::now();
        let code = request.uri().path().strip_prefix('/')?;
        let cached = self.app.service.resolve_near(code)?;
        let consistency = Consistency::Consistent;
        let mut response = redirect::response(&self.app, &cached, consistency)?;
        self.app.service.count_click(code, redirect::agent(request.headers()));
        let headers = response.headers_mut();
        web::set_nosniff(headers);
        headers.insert(&X_SHORT_ID, ShortId::of(request.headers()).header());
        headers.insert(&X_CONSISTENCY_STATE, HeaderValue::from_static(consistency.as_str()));
        self.metrics.count(Route::Redirect, response.status(), started.elapsed());
        Some(response)
    }
}

impl Service<Request<Incoming>> for FastPath {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response, Infallible>>, TowerToHyperServiceFuture<Router, Request<Incoming>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        match self.near(&request) {
            Some(response) => Either::Left(ready(Ok(response))),
            None => Either::Right(self.router.call(request)),
        }
    }
}
