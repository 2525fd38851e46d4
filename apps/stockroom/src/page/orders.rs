//! Orders on the page.

use super::forms::{FIELDS, FormId, OrderInput, Rejected, number, product_field, quantity_field};
use super::home::{address, reject};
use super::lists::PageQuery;
use super::order;
use crate::http::App;
use crate::store::{Order, OrderState, Product};
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use web::forms::general;
use web::{Changed, Form, Problem, grouped};

/// Maximum number of orders on the page; the API returns every order by its id.
pub(super) const ORDERS: u32 = 20;

/// `POST /orders`
pub(super) async fn reserve(State(app): State<App>, Form(order): Form<OrderInput>) -> Result<Response, Problem> {
    match app.service.reserve(order.commodity_name.trim(), number(&order.quantity), None).await {
        Ok(created) => Ok((Extension(Changed), Redirect::to(&address("reserved", &created.order.id))).into_response()),
        Err(error) => reject(&app, FormId::Order, error, Rejected { order, ..Rejected::default() }).await,
    }
}

/// `POST /orders/{id}/release`. Succeeds if the order is already released.
pub(super) async fn release(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    match app.service.release(&id, None).await {
        Ok(released) => {
            Ok((Extension(Changed), Redirect::to(&address("released", &released.order.id))).into_response())
        }
        Err(error) => reject(&app, FormId::Order, error, Rejected::default()).await,
    }
}

/// The result of the last form, if the order has that state: anyone can write the URL.
pub(super) async fn notices(app: &App, query: &PageQuery) -> Markup {
    let mut orders = Vec::new();
    for (id, state) in [(&query.reserved, OrderState::Reserved), (&query.released, OrderState::Released)] {
        if let Some(id) = id
            && let Ok(order) = app.service.order(id).await
            && order.state == state
        {
            orders.push(order);
        }
    }
    html! {
        @for order in &orders {
            section.notice.good role="status" {
                @match order.state {
                    OrderState::Reserved => p { "Reserved " (grouped(order.quantity)) " " strong { (order.commodity_name) } "." },
                    _ => p { "Released " (grouped(order.quantity)) " " strong { (order.commodity_name) } ": back in stock." },
                }
            }
        }
    }
}

/// The form and the newest orders.
pub(super) fn card(app: &App, products: &[Product], orders: &[Order], rejected: &Rejected) -> Markup {
    let problem = rejected.problem(FormId::Order);
    let input = &rejected.order;
    html! {
        section.card aria-labelledby="orders" {
            h2 id="orders" { "Orders" }
            (general(FIELDS, problem))
            form method="post" action="/orders" {
                div.fields.four {
                    (product_field("orderCommodity", products, &input.commodity_name, problem))
                    (quantity_field("orderQuantity", &input.quantity, problem))
                    div.actions { button.primary type="submit" { "Reserve" } }
                }
            }
            @if orders.is_empty() {
                div.empty { h3 { "No orders yet" } p { "An order reserves goods, which leave the stock until the order is released or expires." } }
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
                @let day = app.service.options().calendar.day(u64::try_from(order.created_at).unwrap_or_default());
                tr {
                    td { time datetime=(day) { (day) } }
                    td { (order.commodity_name) }
                    td.number data-label="Quantity" { (grouped(order.quantity)) }
                    td { a href={ "/orders/" (order.id) } aria-label={ (order::state(order.state)) ", order of " (order.quantity) " " (order.commodity_name) } { (order::state(order.state)) } }
                    @match order.state {
                        OrderState::Reserved => {
                            td { form method="post" action={ "/orders/" (order.id) "/release" } {
                                button.small type="submit" aria-label={ "Release the order of " (order.quantity) " " (order.commodity_name) } { "Release" }
                            } }
                        },
                        _ => td {},
                    }
                }
            } }
        }
    }
}
