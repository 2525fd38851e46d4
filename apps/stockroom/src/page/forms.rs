//! The forms: their input and their fields.

use crate::http::{day, strategy};
use crate::service::NewArrival;
use crate::store::Product;
use maud::{Markup, html};
use serde::Deserialize;
use web::Problem;
use web::forms::{error_line, field_error};

/// The fields of all forms.
pub(super) const FIELDS: &[&str] = &["commodityName", "quantity", "day", "name"];

/// The input of the form for deliveries. All fields are text, so that invalid input is shown with its error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArrivalInput {
    #[serde(default)]
    pub(super) commodity_name: String,
    #[serde(default)]
    pub(super) quantity: String,
    #[serde(default)]
    pub(super) day: String,
    #[serde(default)]
    pub(super) strategy: String,
}

/// The input of the form for orders.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OrderInput {
    #[serde(default)]
    pub(super) commodity_name: String,
    #[serde(default)]
    pub(super) quantity: String,
}

/// The input that was rejected, its form, and the problem.
#[derive(Default)]
pub(super) struct Rejected {
    pub(super) arrival: ArrivalInput,
    pub(super) order: OrderInput,
    pub(super) product: ProductInput,
    pub(super) problem: Option<(FormId, Problem)>,
}

/// The forms of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormId {
    Arrival,
    Order,
    Product,
}

impl Rejected {
    /// The problem of this form.
    pub(super) fn problem(&self, form: FormId) -> Option<&Problem> {
        self.problem.as_ref().filter(|(which, _)| *which == form).map(|(_, problem)| problem)
    }
}

/// The input of the form for products.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ProductInput {
    #[serde(default)]
    pub(super) name: String,
}

impl ArrivalInput {
    /// The delivery.
    pub(super) fn parsed(&self) -> Result<NewArrival, Problem> {
        let commodity_name = self.commodity_name.trim().to_owned();
        Ok(NewArrival { commodity_name, quantity: number(&self.quantity), day: day("day", Some(self.day.trim()))? })
    }

    /// The strategy; `None` for the default.
    pub(super) fn strategy(&self) -> Result<Option<crate::domain::Strategy>, Problem> {
        Some(self.strategy.as_str()).filter(|name| !name.is_empty()).map(strategy).transpose()
    }
}

/// Parses a quantity. Text that is not a number becomes 0, which is out of range.
pub(super) fn number(input: &str) -> i64 {
    input.trim().parse().unwrap_or(0)
}

/// A field to choose a product.
pub(super) fn product_field(id: &str, products: &[Product], chosen: &str, problem: Option<&Problem>) -> Markup {
    let error_id = format!("{id}-error");
    let error = field_error("commodityName", problem);
    html! {
        div.field {
            label for=(id) { "Product" }
            select id=(id) name="commodityName" required
                aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| error_id.as_str())] {
                @for product in products {
                    option value=(product.name) selected[product.name == chosen] { (product.name) }
                }
            }
            (error_line(&error_id, error))
        }
    }
}

/// A field for a quantity.
pub(super) fn quantity_field(id: &str, input: &str, problem: Option<&Problem>) -> Markup {
    let error_id = format!("{id}-error");
    let error = field_error("quantity", problem);
    html! {
        div.field {
            label for=(id) { "Quantity" }
            input type="text" inputmode="numeric" id=(id) name="quantity" value=(input) required
                autocomplete="off" autofocus[error.is_some()]
                aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| error_id.as_str())];
            (error_line(&error_id, error))
        }
    }
}
