//! What the forms send, and what is wrong with it.

use crate::http::{day, strategy};
use crate::service::NewArrival;
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
        // What is no number is refused as one that is out of range is.
        let quantity = self.quantity.trim().parse().unwrap_or(0);
        Ok(NewArrival { commodity_name, quantity, day: day("day", Some(self.day.trim()))? })
    }

    /// The strategy that is meant; none if the field was left as it was.
    pub(super) fn strategy(&self) -> Result<Option<crate::domain::Strategy>, Problem> {
        Some(self.strategy.as_str()).filter(|name| !name.is_empty()).map(strategy).transpose()
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
