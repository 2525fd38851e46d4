//! `/`: the stock, goods to be received, orders, and what arrived.

use super::Assets;
use super::lists::{self, View};
use super::orders;
use super::typed::{About, Arrival, NewProduct, Said, error, general, products, quantity, wrong};
use crate::domain::{PageRequest, Strategy};
use crate::http::{App, day, page};
use crate::store::Product;
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use url::form_urlencoded;
use web::site::{Place, frame};
use web::{Changed, Form, Problem, Query};

/// Products on the page.
const PRODUCTS: u32 = 200;

/// `GET /`
pub(super) async fn show(State(app): State<App>, Query(view): Query<View>) -> Result<Response, Problem> {
    Ok(render(&app, &view, &Said::default()).await?.into_response())
}

/// `POST /arrivals`
pub(super) async fn arrive(State(app): State<App>, Form(arrival): Form<Arrival>) -> Result<Response, Problem> {
    match arrived(&app, &arrival).await {
        Ok(name) => Ok((Extension(Changed), Redirect::to(&address("arrived", &name))).into_response()),
        Err(problem) => {
            let said = Said { arrival, problem: Some((About::Arrival, &problem)), ..Said::default() };
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
            let said = Said { product, problem: Some((About::Product, &problem)), ..Said::default() };
            Ok((problem.status(), render(&app, &View::default(), &said).await?).into_response())
        }
    }
}

async fn arrived(app: &App, arrival: &Arrival) -> Result<String, Problem> {
    let arrived = app.service.arrive(&arrival.meant()?, arrival.strategy()?).await?;
    Ok(arrived.commodity_name)
}

/// `POST /samples`
pub(super) async fn add_samples(State(app): State<App>) -> Result<Response, Problem> {
    app.service.add_samples().await?;
    Ok((Extension(Changed), Redirect::to("/")).into_response())
}

pub(super) async fn render(app: &App, view: &View, said: &Said<'_>) -> Result<Markup, Problem> {
    let products = app.service.products(all()?).await?;
    if products.rows.is_empty() {
        let body = html! {
            (start())
            (new_product(said))
        };
        return Ok(frame::<Assets>("Stock", Place::Home, &body));
    }
    let request = page(view.page, None)?;
    let (start, end) = (day("startDate", view.start_date.as_deref())?, day("endDate", view.end_date.as_deref())?);
    let name = view.commodity_name.as_deref().filter(|name| !name.is_empty());
    let arrivals = app.service.arrivals(start, end, name, request).await?;
    let newest = app.service.orders(orders::ORDERS).await?;
    let body = html! {
        (told(view, &products.rows))
        (orders::told(app, view).await)
        (lists::stock(&products, app.service.cap()))
        (form(app, &products.rows, said))
        (orders::card(app, &products.rows, &newest, said))
        (new_product(said))
        (lists::arrivals(view, &products, &arrivals, request))
    };
    Ok(frame::<Assets>("Stock", Place::Home, &body))
}

/// What is shown before there is anything.
fn start() -> Markup {
    html! {
        section.card aria-labelledby="stock" {
            h1 id="stock" { "Stock" }
            div.empty {
                h3 { "No products yet" }
                p { "Add some sample goods to try things out, or a product of your own." }
                form method="post" action="/samples" { button.primary type="submit" { "Add sample goods" } }
            }
        }
    }
}

/// What just happened, in the reader's words; of products that there are.
fn told(view: &View, products: &[Product]) -> Markup {
    let known = |name: &&String| products.iter().any(|product| product.name == **name);
    html! {
        @if let Some(name) = view.arrived.as_ref().filter(known) {
            section.notice.good role="status" { p { "The goods are in stock: " strong { (name) } "." } }
        }
        @if let Some(name) = view.added.as_ref().filter(known) {
            section.notice.good role="status" { p { strong { (name) } " can be received now." } }
        }
    }
}

fn form(app: &App, goods: &[Product], said: &Said<'_>) -> Markup {
    let problem = said.problem(About::Arrival);
    let day = wrong("day", problem);
    let typed = &said.arrival;
    html! {
        section.card aria-labelledby="goods-in" {
            h2 id="goods-in" { "Receive goods" }
            (general(problem))
            form method="post" action="/arrivals" {
                div.fields.four {
                    (products("commodityName", goods, &typed.commodity_name, wrong("commodityName", problem)))
                    (quantity("quantity", "Quantity", &typed.quantity, wrong("quantity", problem)))
                    div.field {
                        label for="day" { "Day " small { "(or today)" } }
                        input type="date" id="day" name="day" value=(typed.day) max="9999-12-31"
                            aria-invalid=[day.map(|_| "true")] aria-describedby=[day.map(|_| "day-error")];
                        (error("day-error", day))
                    }
                    (strategies(app, typed))
                    div.actions { button.primary type="submit" { "Receive" } }
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
            label for="strategy" { "Locking strategy" }
            select id="strategy" name="strategy" title={ "Default: " (usual) } {
                option value="" { "Default" }
                @for strategy in offered {
                    option value=(strategy) selected[strategy.name() == typed.strategy] { (strategy) }
                }
            }
        }
    }
}

fn new_product(said: &Said<'_>) -> Markup {
    let problem = said.problem(About::Product);
    let name = wrong("name", problem);
    html! {
        section.card aria-labelledby="new-product" {
            h2 id="new-product" { "New product" }
            (general(problem))
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

fn all() -> Result<PageRequest, Problem> {
    page(None, Some(PRODUCTS))
}

pub(super) fn address(what: &str, name: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(what, name).finish();
    format!("/?{query}")
}
