//! `/api/products` and `/api/products/{id}`.

use super::body::{NewProduct, PageQuery, ProductBody, ProductPage, page};
use crate::http::App;
use crate::http::kind::UNKNOWN_PRODUCT;
use crate::http::openapi::{ListProblems, NameProblems, ProductProblems, WriteProblems};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, JsonBody, Problem, Query};

/// Add a product
///
/// Its stock is empty until goods are received.
#[utoipa::path(
    post, path = "/api/products", tag = "products", request_body = NewProduct,
    responses(
        (status = 201, description = "The product was added", body = ProductBody, headers(
            ("location" = String, description = "URL of the new product"))),
        NameProblems,
        WriteProblems,
    )
)]
pub(super) async fn add(State(app): State<App>, JsonBody(body): JsonBody<NewProduct>) -> Result<Response, Problem> {
    let product = app.service.add_product(&body.name).await?;
    let location = HeaderValue::try_from(format!("/api/products/{}", product.id)).ok();
    let headers = location.map(|location| [(header::LOCATION, location)]);
    let body = Json(ProductBody::new(product, app.service.cap()));
    Ok((StatusCode::CREATED, headers, Extension(Changed), body).into_response())
}

/// List products and their stock
///
/// By name, in pages.
#[utoipa::path(
    get, path = "/api/products", tag = "products", params(PageQuery),
    responses((status = 200, description = "A page of products", body = ProductPage), ListProblems)
)]
pub(super) async fn list(State(app): State<App>, Query(query): Query<PageQuery>) -> Result<Response, Problem> {
    let request = page(query.page, query.per_page)?;
    let listed = app.service.products(request).await?;
    Ok(uncached(ProductPage::new(listed, request, app.service.cap())))
}

/// Read a product and its stock
#[utoipa::path(
    get, path = "/api/products/{id}", tag = "products",
    params(("id" = i64, Path, description = "Number of the product")),
    responses((status = 200, description = "The product", body = ProductBody), ProductProblems)
)]
pub(super) async fn read(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let unknown = || Problem::new(UNKNOWN_PRODUCT, "No product has this number.");
    let id = id.parse().map_err(|_| unknown())?;
    let product = app.service.product(id).await?.ok_or_else(unknown)?;
    Ok(uncached(ProductBody::new(product, app.service.cap())))
}

/// A response that clients must not cache, because stock changes at any time.
pub(super) fn uncached(body: impl serde::Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}
