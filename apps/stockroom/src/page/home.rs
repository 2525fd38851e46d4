//! `/`: the stock, the forms, the orders and the arrivals.

use super::Assets;
use super::forms::{ArrivalInput, FIELDS, FormId, ProductInput, Rejected, product_field, quantity_field};
use super::lists::{self, PageQuery};
use super::orders;
use crate::domain::{PageRequest, Strategy};
use crate::http::{App, day, page};
use crate::store::Product;
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use url::form_urlencoded;
use web::forms::{error_line, field_error, general};
use web::site::{NavItem, layout};
use web::{Changed, Form, Problem, Query};

/// Maximum number of products on the page.
const PRODUCTS: u32 = 200;

/// `GET /`
pub(super) async fn show(State(app): State<App>, Query(query): Query<PageQuery>) -> Result<Response, Problem> {
    Ok(render(&app, &query, &Rejected::default()).await?.into_response())
}

/// `POST /arrivals`
pub(super) async fn receive(State(app): State<App>, Form(arrival): Form<ArrivalInput>) -> Result<Response, Problem> {
    match try_receive(&app, &arrival).await {
        Ok(name) => Ok((Extension(Changed), Redirect::to(&address("arrived", &name))).into_response()),
        Err(problem) => reject(&app, FormId::Arrival, problem, Rejected { arrival, ..Rejected::default() }).await,
    }
}

/// `POST /products`
pub(super) async fn add(State(app): State<App>, Form(product): Form<ProductInput>) -> Result<Response, Problem> {
    match app.service.add_product(product.name.trim()).await {
        Ok(added) => Ok((Extension(Changed), Redirect::to(&address("added", &added.name))).into_response()),
        Err(error) => reject(&app, FormId::Product, error, Rejected { product, ..Rejected::default() }).await,
    }
}

async fn try_receive(app: &App, arrival: &ArrivalInput) -> Result<String, Problem> {
    let received = app.service.receive(&arrival.parsed()?, arrival.strategy()?).await?;
    Ok(received.commodity_name)
}

/// `POST /samples`
pub(super) async fn add_samples(State(app): State<App>) -> Result<Response, Problem> {
    app.service.add_samples().await?;
    Ok((Extension(Changed), Redirect::to("/")).into_response())
}

/// The page with the rejected `input` of a form, and the problem.
pub(super) async fn reject(
    app: &App,
    form: FormId,
    problem: impl Into<Problem>,
    input: Rejected,
) -> Result<Response, Problem> {
    let problem = problem.into();
    let status = problem.status();
    let rejected = Rejected { problem: Some((form, problem)), ..input };
    Ok((status, render(app, &PageQuery::default(), &rejected).await?).into_response())
}

async fn render(app: &App, query: &PageQuery, rejected: &Rejected) -> Result<Markup, Problem> {
    let products = app.service.products(all()?).await?;
    if products.rows.is_empty() {
        let body = html! {
            (redis_notice(app))
            (first_steps())
            (new_product(rejected))
        };
        return Ok(layout::<Assets>("Stock", NavItem::Home, &body));
    }
    let request = page(query.page, None)?;
    let (start, end) = (day("startDate", query.start_date.as_deref())?, day("endDate", query.end_date.as_deref())?);
    let name = query.commodity_name.as_deref().filter(|name| !name.is_empty());
    let arrivals = app.service.arrivals(start, end, name, request).await?;
    let newest = app.service.orders(orders::ORDERS).await?;
    let body = html! {
        (redis_notice(app))
        (notices(query, &products.rows))
        (orders::notices(app, query).await)
        (lists::stock(&products, app.service.cap()))
        (arrival_form(app, &products.rows, rejected))
        (orders::card(app, &products.rows, &newest, rejected))
        (new_product(rejected))
        (lists::arrivals(query, &products, &arrivals, request))
    };
    Ok(layout::<Assets>("Stock", NavItem::Home, &body))
}

fn redis_notice(app: &App) -> Markup {
    html! {
        @if app.service.redis_state() == "down" {
            section.notice.bad role="status" {
                p { "Redis is unreachable. Until it is back, only the locking strategies without Redis work." }
            }
        }
    }
}

/// The page before the first product exists.
fn first_steps() -> Markup {
    html! {
        section.card aria-labelledby="stock" {
            h1 id="stock" { "Stock" }
            div.empty {
                h3 { "No products yet" }
                p { "Add sample products to try the stockroom, or add your own." }
                form method="post" action="/samples" { button.primary type="submit" { "Add sample products" } }
            }
        }
    }
}

/// The result of the last form, for products that exist: anyone can write the URL.
fn notices(query: &PageQuery, products: &[Product]) -> Markup {
    let known = |name: &&String| products.iter().any(|product| product.name == **name);
    html! {
        @if let Some(name) = query.arrived.as_ref().filter(known) {
            section.notice.good role="status" { p { "Received " strong { (name) } "." } }
        }
        @if let Some(name) = query.added.as_ref().filter(known) {
            section.notice.good role="status" { p { "Added " strong { (name) } "." } }
        }
    }
}

fn arrival_form(app: &App, products: &[Product], rejected: &Rejected) -> Markup {
    let problem = rejected.problem(FormId::Arrival);
    let day_error = field_error("day", problem);
    let input = &rejected.arrival;
    html! {
        section.card aria-labelledby="goods-in" {
            h2 id="goods-in" { "Receive goods" }
            (general(FIELDS, problem))
            form method="post" action="/arrivals" {
                div.fields.four {
                    (product_field("commodityName", products, &input.commodity_name, problem))
                    (quantity_field("quantity", &input.quantity, problem))
                    div.field {
                        label for="day" { "Day " small { "(default: today)" } }
                        input type="date" id="day" name="day" value=(input.day) max="9999-12-31"
                            aria-invalid=[day_error.map(|_| "true")] aria-describedby=[day_error.map(|_| "day-error")];
                        (error_line("day-error", day_error))
                    }
                    (strategy_field(app, input))
                    div.actions { button.primary type="submit" { "Receive" } }
                }
            }
        }
    }
}

fn strategy_field(app: &App, input: &ArrivalInput) -> Markup {
    let chosen = match input.strategy.as_str() {
        "" => app.service.options().strategy.name(),
        chosen => chosen,
    };
    let offered = Strategy::ALL.into_iter().filter(|strategy| app.service.offers(*strategy));
    html! {
        div.field {
            label for="strategy" { "Locking strategy" }
            select id="strategy" name="strategy" {
                @for strategy in offered {
                    option value=(strategy) selected[strategy.name() == chosen] { (strategy) }
                }
            }
        }
    }
}

fn new_product(rejected: &Rejected) -> Markup {
    let problem = rejected.problem(FormId::Product);
    let error = field_error("name", problem);
    html! {
        section.card aria-labelledby="new-product" {
            h2 id="new-product" { "New product" }
            (general(FIELDS, problem))
            form method="post" action="/products" {
                div.fields {
                    div.field {
                        label for="name" { "Name" }
                        input type="text" id="name" name="name" value=(rejected.product.name) required maxlength="100"
                            autocomplete="off" autofocus[error.is_some()]
                            aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| "name-error")];
                        (error_line("name-error", error))
                    }
                    div.actions { button type="submit" { "Add" } }
                }
            }
        }
    }
}

fn all() -> Result<PageRequest, Problem> {
    page(None, Some(PRODUCTS))
}

pub(super) fn address(what: &str, name: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(what, name).finish();
    format!("/?{query}")
}
