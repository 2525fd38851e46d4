//! `/orders/{id}`: the life of one order, and its payment.

use super::Assets;
use crate::domain::{IdempotencyKey, TestCard};
use crate::http::App;
use crate::service::ServiceError;
use crate::store::{Order, OrderEvent, OrderState};
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;
use web::site::{NavItem, layout};
use web::{Changed, Form, Problem, grouped, timestamp};

/// The form that pays an order.
#[derive(Debug, Deserialize)]
pub(super) struct PayInput {
    card: String,
    /// Drawn when the form was rendered, so that a form that is sent twice is one payment.
    key: String,
}

/// `GET /orders/{id}`
pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Markup, Problem> {
    render(&app, &id, None).await
}

/// `POST /orders/{id}/pay`
pub(super) async fn pay(
    State(app): State<App>,
    Path(id): Path<String>,
    Form(input): Form<PayInput>,
) -> Result<Response, Problem> {
    let key = IdempotencyKey::parse(&input.key).map_err(|error| ServiceError::invalid("key", &error))?;
    let card = input.card.parse::<TestCard>().map_err(|error| ServiceError::invalid("card", &error))?;
    match app.service.pay(&id, &key, card).await {
        Ok(payment) => Ok((Extension(Changed), Redirect::to(&format!("/orders/{}", payment.order))).into_response()),
        Err(error) => {
            let problem = Problem::from(error);
            Ok((problem.status(), render(&app, &id, Some(&problem)).await?).into_response())
        }
    }
}

async fn render(app: &App, id: &str, problem: Option<&Problem>) -> Result<Markup, Problem> {
    let order = app.service.order(id).await?;
    let events = app.service.events(id).await?;
    let body = html! {
        @if let Some(problem) = problem {
            div.notice.bad role="alert" { p { strong { (problem.title()) ". " } (problem.detail()) } }
        }
        section.card.narrow {
            h1 { "Order of " (grouped(order.quantity)) " " (order.commodity_name) }
            dl.facts {
                dt { "State" } dd id="state" { (state(order.state)) }
                dt { "Created" } dd { (moment(order.created_at)) }
                dt { "Last change" } dd { (moment(order.updated_at)) }
                @if let Some(pay_by) = order.pay_by.filter(|_| order.state == OrderState::Reserved) {
                    dt { "To be paid by" } dd { (moment(pay_by)) }
                }
            }
            (actions(&order))
        }
        (life(&events))
    };
    Ok(layout::<Assets>("Order", NavItem::Other, &body))
}

/// What can be done with the order now.
fn actions(order: &Order) -> Markup {
    let id = &order.id;
    html! {
        @match order.state {
            OrderState::Reserved => {
                form method="post" action={ "/orders/" (id) "/pay" } {
                    input type="hidden" name="key" value=(Uuid::now_v7());
                    div.fields.four {
                        div.field {
                            label for="card" { "Card of the test gateway" }
                            select id="card" name="card" {
                                @for card in TestCard::ALL { option value=(card) { (card) } }
                            }
                        }
                        div.actions { button.primary type="submit" { "Pay" } }
                    }
                }
                form method="post" action={ "/orders/" (id) "/release" } {
                    div.actions { button type="submit" { "Release" } a.button href="/" { "Back to the stock" } }
                }
            },
            OrderState::Paying => {
                p.hint { "The payment waits for the gateway." }
                div.actions { a.button href={ "/orders/" (id) } { "Reload" } a.button href="/" { "Back to the stock" } }
            },
            OrderState::Paid | OrderState::Released | OrderState::Expired => {
                div.actions { a.button href="/" { "Back to the stock" } }
            },
        }
    }
}

/// What has happened to the order, oldest first.
fn life(events: &[OrderEvent]) -> Markup {
    html! {
        section.card.narrow aria-labelledby="life" {
            h2 id="life" { "Life of this order" }
            @if events.is_empty() { p { "This order was created before its life was recorded." } }
            @else {
                ol.life { @for event in events {
                    li {
                        (moment(event.happened_at)) " " strong { (sentence(&event.kind)) }
                        @if !event.detail.is_empty() { " – " (event.detail) }
                    }
                } }
            }
        }
    }
}

/// The state of an order in words.
pub(super) fn state(state: OrderState) -> &'static str {
    match state {
        OrderState::Reserved => "Reserved",
        OrderState::Paying => "Being paid",
        OrderState::Paid => "Paid",
        OrderState::Released => "Released",
        OrderState::Expired => "Expired",
    }
}

fn sentence(kind: &str) -> &str {
    match kind {
        "reserved" => "Goods reserved",
        "paying" => "Payment requested",
        "gateway" => "No answer from the gateway",
        "paid" => "Paid",
        "declined" => "Payment declined",
        "released" => "Released: goods back in stock",
        "expired" => "Not paid in time: goods back in stock",
        other => other,
    }
}

fn moment(unix_ms: i64) -> Markup {
    let moment = timestamp(unix_ms);
    html! { time datetime=(moment) { (moment.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
}
