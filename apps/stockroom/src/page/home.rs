//! `/`: what is there, goods in, and what arrived.

use super::Assets;
use super::lists::{self, View};
use super::typed::{Arrival, NewProduct, error, wrong};
use crate::domain::{PageRequest, Strategy};
use crate::http::{App, day, page};
use crate::store::{Listed, Product};
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use url::form_urlencoded;
use web::site::{Place, frame};
use web::{Changed, Form, Problem, Query};

/// Products on the page.
const PRODUCTS: u32 = 200;

/// What was typed, and what is wrong with it.
#[derive(Default)]
struct Said<'a> {
    arrival: Arrival,
    product: NewProduct,
    problem: Option<&'a Problem>,
}

/// `GET /`
pub(super) async fn show(State(app): State<App>, Query(view): Query<View>) -> Result<Response, Problem> {
    Ok(render(&app, &view, &Said::default()).await?.into_response())
}

/// `POST /arrivals`
pub(super) async fn arrive(State(app): State<App>, Form(arrival): Form<Arrival>) -> Result<Response, Problem> {
    match arrived(&app, &arrival).await {
        Ok(name) => Ok((Extension(Changed), Redirect::to(&address("arrived", &name))).into_response()),
        Err(problem) => {
            let said = Said { arrival, problem: Some(&problem), ..Said::default() };
            Ok((problem.status(), render(&app, &View::default(), &said).await?).into_response())
        }
    }
}

/// `POST /products`
pub(super) async fn add(State(app): State<App>, Form(product): Form<NewProduct>) -> Result<Response, Problem> {
    match app.service.add_product(product.name.trim()).await {
        Ok(added) => Ok((Extension(Changed), Redirect::to(&address("added", &added.name))).into_response()),
        Err(error) => {
            let problem = Problem::from(error);
            let said = Said { product, problem: Some(&problem), ..Said::default() };
            Ok((problem.status(), render(&app, &View::default(), &said).await?).into_response())
        }
    }
}

async fn arrived(app: &App, arrival: &Arrival) -> Result<String, Problem> {
    let arrived = app.service.arrive(&arrival.meant()?, arrival.strategy()?).await?;
    Ok(arrived.commodity_name)
}

async fn render(app: &App, view: &View, said: &Said<'_>) -> Result<Markup, Problem> {
    let products = app.service.products(all()?).await?;
    let request = page(view.page, None)?;
    let (start, end) = (day("startDate", view.start_date.as_deref())?, day("endDate", view.end_date.as_deref())?);
    let name = view.commodity_name.as_deref().filter(|name| !name.is_empty());
    let arrivals = app.service.arrivals(start, end, name, request).await?;
    let body = html! {
        (told(view))
        (form(app, &products, said))
        (lists::stock(&products, app.service.cap()))
        (new_product(said))
        (lists::arrivals(view, &products, &arrivals, request))
    };
    Ok(frame::<Assets>("Stock", Place::Home, &body))
}

/// What just happened, in the reader's words.
fn told(view: &View) -> Markup {
    html! {
        @if let Some(name) = &view.arrived {
            section.notice.good role="status" { p { "The goods are in stock: " strong { (name) } "." } }
        }
        @if let Some(name) = &view.added {
            section.notice.good role="status" { p { strong { (name) } " can be taken in now." } }
        }
    }
}

fn form(app: &App, products: &Listed<Product>, said: &Said<'_>) -> Markup {
    let of = |field| wrong(field, said.problem);
    let (name, quantity, day) = (of("commodityName"), of("quantity"), of("day"));
    let typed = &said.arrival;
    html! {
        section.card aria-labelledby="goods-in" {
            h1 id="goods-in" { "Goods in" }
            (general(said.problem))
            form method="post" action="/arrivals" {
                div.fields.four {
                    div.field {
                        label for="commodityName" { "Product" }
                        select id="commodityName" name="commodityName" required
                            aria-invalid=[name.map(|_| "true")] aria-describedby=[name.map(|_| "commodityName-error")] {
                            @for product in &products.rows {
                                option value=(product.name) selected[product.name == typed.commodity_name] { (product.name) }
                            }
                        }
                        (error("commodityName-error", name))
                    }
                    div.field {
                        label for="quantity" { "How many" }
                        input type="text" inputmode="numeric" id="quantity" name="quantity" value=(typed.quantity) required
                            autocomplete="off" autofocus[quantity.is_some()]
                            aria-invalid=[quantity.map(|_| "true")] aria-describedby=[quantity.map(|_| "quantity-error")];
                        (error("quantity-error", quantity))
                    }
                    div.field {
                        label for="day" { "Day " small { "(today if left empty)" } }
                        input type="date" id="day" name="day" value=(typed.day) max="9999-12-31"
                            aria-invalid=[day.map(|_| "true")] aria-describedby=[day.map(|_| "day-error")];
                        (error("day-error", day))
                    }
                    (strategies(app, typed))
                    div.actions { button.primary type="submit" { "Take in" } }
                }
            }
        }
    }
}

fn strategies(app: &App, typed: &Arrival) -> Markup {
    let usual = app.service.rules().strategy;
    let offered = Strategy::ALL.into_iter().filter(|strategy| app.service.offers(*strategy));
    html! {
        div.field {
            label for="strategy" { "How" }
            select id="strategy" name="strategy" {
                option value="" { (usual) " (as configured)" }
                @for strategy in offered {
                    option value=(strategy) selected[strategy.name() == typed.strategy] { (strategy) }
                }
            }
        }
    }
}

fn new_product(said: &Said<'_>) -> Markup {
    let name = wrong("name", said.problem);
    html! {
        section.card aria-labelledby="new-product" {
            h2 id="new-product" { "New product" }
            form method="post" action="/products" {
                div.fields {
                    div.field {
                        label for="name" { "Name" }
                        input type="text" id="name" name="name" value=(said.product.name) required maxlength="100"
                            autocomplete="off" autofocus[name.is_some()]
                            aria-invalid=[name.map(|_| "true")] aria-describedby=[name.map(|_| "name-error")];
                        (error("name-error", name))
                    }
                    div.actions { button type="submit" { "Add" } }
                }
            }
        }
    }
}

/// What is wrong with the whole rather than with one of its fields.
fn general(problem: Option<&Problem>) -> Markup {
    let known = |field: &str| matches!(field, "commodityName" | "quantity" | "day" | "name");
    let beside =
        |problem: &&Problem| !problem.errors().is_empty() && problem.errors().iter().all(|error| known(&error.field));
    html! {
        @if let Some(problem) = problem.filter(|problem| !beside(problem)) {
            div.notice.bad role="alert" { p { strong { (problem.title()) ". " } (problem.detail()) } }
        }
    }
}

fn all() -> Result<PageRequest, Problem> {
    page(None, Some(PRODUCTS))
}

fn address(what: &str, name: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(what, name).finish();
    format!("/?{query}")
}
