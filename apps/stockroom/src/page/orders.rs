//! Orders on the page: goods that are reserved, and given back.

use super::home::{address, render};
use super::lists::View;
use super::typed::{About, Reservation, Said, general, number, products, quantity, wrong};
use crate::http::App;
use crate::store::{Order, OrderState, Product};
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use web::{Changed, Form, Problem};

/// Orders on the page; the API reads any of them by its id.
pub(super) const ORDERS: u32 = 20;

/// `POST /orders`
pub(super) async fn reserve(State(app): State<App>, Form(order): Form<Reservation>) -> Result<Response, Problem> {
    match app.service.reserve(order.commodity_name.trim(), number(&order.quantity), None).await {
        Ok(ordered) => Ok((Extension(Changed), Redirect::to(&address("reserved", &ordered.order.id))).into_response()),
        Err(error) => {
            let problem = Problem::from(error);
            let said = Said { order, problem: Some((About::Order, &problem)), ..Said::default() };
            Ok((problem.status(), render(&app, &View::default(), &said).await?).into_response())
        }
    }
}

/// `POST /orders/{id}/release`. One that gave its goods back already is what was wanted.
pub(super) async fn release(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    match app.service.release(&id, None).await {
        Ok(ordered) => Ok((Extension(Changed), Redirect::to(&address("released", &ordered.order.id))).into_response()),
        Err(error) => {
            let problem = Problem::from(error);
            let said = Said { problem: Some((About::Order, &problem)), ..Said::default() };
            Ok((problem.status(), render(&app, &View::default(), &said).await?).into_response())
        }
    }
}

/// What just happened to an order, if it is so: the address of the page is anybody's to write.
pub(super) async fn told(app: &App, view: &View) -> Markup {
    let mut said = Vec::new();
    for (id, state) in [(&view.reserved, OrderState::Reserved), (&view.released, OrderState::Released)] {
        if let Some(id) = id
            && let Ok(order) = app.service.order(id).await
            && order.state == state
        {
            said.push(order);
        }
    }
    html! {
        @for order in &said {
            section.notice.good role="status" {
                @match order.state {
                    OrderState::Reserved => p { (order.quantity) " " strong { (order.commodity_name) } " are reserved." },
                    OrderState::Released => p { (order.quantity) " " strong { (order.commodity_name) } " are in stock again." },
                }
            }
        }
    }
}

/// The form, and the newest orders.
pub(super) fn card(app: &App, goods: &[Product], orders: &[Order], said: &Said<'_>) -> Markup {
    let problem = said.problem(About::Order);
    let typed = &said.order;
    html! {
        section.card aria-labelledby="orders" {
            h2 id="orders" { "Orders" }
            (general(problem))
            form method="post" action="/orders" {
                div.fields.four {
                    (products("orderCommodity", goods, &typed.commodity_name, wrong("commodityName", problem)))
                    (quantity("orderQuantity", "Quantity", &typed.quantity, wrong("quantity", problem)))
                    div.actions { button.primary type="submit" { "Reserve" } }
                }
            }
            @if orders.is_empty() {
                div.empty { h3 { "No orders yet" } p { "An order reserves goods: they leave the stock until the order is released." } }
            } @else { (table(app, orders)) }
        }
    }
}

fn table(app: &App, orders: &[Order]) -> Markup {
    html! {
        table.orders {
            thead { tr {
                th scope="col" { "Day" }
                th scope="col" { "Product" }
                th.number scope="col" { "Quantity" }
                th scope="col" { "State" }
                th scope="col" { span hidden { "Action" } }
            } }
            tbody { @for order in orders {
                @let day = app.service.rules().days.day(u64::try_from(order.created_at).unwrap_or_default());
                tr {
                    td { time datetime=(day) { (day) } }
                    td { (order.commodity_name) }
                    td.number data-label="Quantity" { (order.quantity) }
                    @match order.state {
                        OrderState::Reserved => {
                            td { "Reserved" }
                            td { form method="post" action={ "/orders/" (order.id) "/release" } {
                                button.small type="submit" aria-label={ "Release the order of " (order.quantity) " " (order.commodity_name) } { "Release" }
                            } }
                        },
                        OrderState::Released => { td { "Released" } td {} },
                    }
                }
            } }
        }
    }
}
