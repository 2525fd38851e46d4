//! What the forms send, and what is wrong with it.

use crate::http::{day, strategy};
use crate::service::NewArrival;
use crate::store::Product;
use maud::{Markup, html};
use serde::Deserialize;
use web::Problem;

/// What the form for arrivals sends. Fields are text: what is wrong with them is said beside them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arrival {
    #[serde(default)]
    pub(super) commodity_name: String,
    #[serde(default)]
    pub(super) quantity: String,
    #[serde(default)]
    pub(super) day: String,
    #[serde(default)]
    pub(super) strategy: String,
}

/// What the form for orders sends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reservation {
    #[serde(default)]
    pub(super) commodity_name: String,
    #[serde(default)]
    pub(super) quantity: String,
}

/// What was typed, where, and what is wrong with it.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) arrival: Arrival,
    pub(super) order: Reservation,
    pub(super) product: NewProduct,
    pub(super) problem: Option<(About, &'a Problem)>,
}

/// The forms of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Arrival,
    Order,
    Product,
}

impl<'a> Said<'a> {
    /// What is wrong with what was sent by this form.
    pub(super) fn problem(&self, about: About) -> Option<&'a Problem> {
        self.problem.filter(|(which, _)| *which == about).map(|(_, problem)| problem)
    }
}

/// What the form for products sends.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct NewProduct {
    #[serde(default)]
    pub(super) name: String,
}

impl Arrival {
    /// The arrival that is meant.
    pub(super) fn meant(&self) -> Result<NewArrival, Problem> {
        let commodity_name = self.commodity_name.trim().to_owned();
        Ok(NewArrival { commodity_name, quantity: number(&self.quantity), day: day("day", Some(self.day.trim()))? })
    }

    /// The strategy that is meant; none if the field was left as it was.
    pub(super) fn strategy(&self) -> Result<Option<crate::domain::Strategy>, Problem> {
        Some(self.strategy.as_str()).filter(|name| !name.is_empty()).map(strategy).transpose()
    }
}

/// What is no number is refused as one that is out of range is.
pub(super) fn number(typed: &str) -> i64 {
    typed.trim().parse().unwrap_or(0)
}

/// What is wrong with the whole rather than with one of its fields.
pub(super) fn general(problem: Option<&Problem>) -> Markup {
    let known = |field: &str| matches!(field, "commodityName" | "quantity" | "day" | "name");
    let beside =
        |problem: &&Problem| !problem.errors().is_empty() && problem.errors().iter().all(|error| known(&error.field));
    html! {
        @if let Some(problem) = problem.filter(|problem| !beside(problem)) {
            div.notice.bad role="alert" { p { strong { (problem.title()) ". " } (problem.detail()) } }
        }
    }
}

/// A field for one of the products.
pub(super) fn products(id: &str, products: &[Product], chosen: &str, wrong: Option<&str>) -> Markup {
    let told = format!("{id}-error");
    html! {
        div.field {
            label for=(id) { "Product" }
            select id=(id) name="commodityName" required
                aria-invalid=[wrong.map(|_| "true")] aria-describedby=[wrong.map(|_| told.as_str())] {
                @for product in products {
                    option value=(product.name) selected[product.name == chosen] { (product.name) }
                }
            }
            (error(&told, wrong))
        }
    }
}

/// A field for how many of them.
pub(super) fn quantity(id: &str, label: &str, typed: &str, wrong: Option<&str>) -> Markup {
    let told = format!("{id}-error");
    html! {
        div.field {
            label for=(id) { (label) }
            input type="text" inputmode="numeric" id=(id) name="quantity" value=(typed) required
                autocomplete="off" autofocus[wrong.is_some()]
                aria-invalid=[wrong.map(|_| "true")] aria-describedby=[wrong.map(|_| told.as_str())];
            (error(&told, wrong))
        }
    }
}

/// Of all that is wrong, what is wrong with this field.
pub(super) fn wrong<'a>(field: &str, problem: Option<&'a Problem>) -> Option<&'a str> {
    problem?.errors().iter().find(|error| error.field == field).map(|error| error.detail.as_str())
}

/// It, below the field.
pub(super) fn error(id: &str, wrong: Option<&str>) -> Markup {
    html! { @if let Some(detail) = wrong { p.error id=(id) { (detail) } } }
}
