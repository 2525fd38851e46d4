//! What stands before the router: a redirect that is at hand is answered at once.
//!
//! Most requests are visits of links that were visited a moment ago. The router, with all that wraps it, would cost such a visit
//! more than its answer does. Whatever is not at hand, or not a plain visit, goes the long way, and is answered the same.

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

/// Answers all requests of a connection; cheap to clone.
#[derive(Clone)]
pub(super) struct Front {
    app: App,
    metrics: Arc<HttpMetrics<Route>>,
    router: TowerToHyperService<Router>,
}

impl Front {
    pub(super) fn new(app: App, metrics: Arc<HttpMetrics<Route>>, router: Router) -> Self {
        Self { app, metrics, router: TowerToHyperService::new(router) }
    }

    /// The answer, if it is at hand. One that somebody wants to read about in the log goes by way of the router, which logs.
    fn at_hand<B>(&self, request: &Request<B>) -> Option<Response> {
        let names_host = request.headers().contains_key(header::HOST);
        if request.method() != Method::GET || !names_host || tracing::enabled!(Level::DEBUG) {
            return None;
        }
        let started = Instant::now();
        let code = request.uri().path().strip_prefix('/')?;
        let destination = self.app.service.at_hand(code)?;
        let consistency = Consistency::Consistent;
        let mut response = redirect::answer(&self.app, &destination, consistency)?;
        let headers = response.headers_mut();
        web::set_nosniff(headers);
        headers.insert(&X_SHORT_ID, ShortId::of(request.headers()).header());
        headers.insert(&X_CONSISTENCY_STATE, HeaderValue::from_static(consistency.as_str()));
        self.metrics.count(Route::Redirect, response.status(), started.elapsed());
        Some(response)
    }
}

impl Service<Request<Incoming>> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response, Infallible>>, TowerToHyperServiceFuture<Router, Request<Incoming>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        match self.at_hand(&request) {
            Some(response) => Either::Left(ready(Ok(response))),
            None => Either::Right(self.router.call(request)),
        }
    }
}
