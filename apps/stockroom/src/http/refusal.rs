//! From what the service could not do to what the client is told.

use super::kind::{
    CAP_EXCEEDED, CONFLICT, INSUFFICIENT_STOCK, INVALID_INPUT, NAME_TAKEN, UNKNOWN_ORDER, UNKNOWN_PRODUCT,
};
use crate::domain::RefusedChange;
use crate::service::ServiceError;
use crate::store::StoreError;
use crate::strategy::ChangeError;
use evenkeel::lock::LockError;
use tracing::{error, warn};
use web::{Kind, Problem};

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Invalid { field, why } => Problem::of_field(INVALID_INPUT, field, why),
            ServiceError::UnknownProduct(name) => {
                Problem::of_field(UNKNOWN_PRODUCT, "commodityName", format!("No product is called {name:?}."))
            }
            ServiceError::UnknownOrder(id) => Problem::new(UNKNOWN_ORDER, format!("No order has the id {id:?}.")),
            ServiceError::Change(error) => from_change(error),
            ServiceError::Store(error) => from_store(&error),
        }
    }
}

fn from_change(error: ChangeError) -> Problem {
    match error {
        ChangeError::Refused(RefusedChange::CapExceeded { quantity, cap }) => {
            let detail = format!("{quantity} in stock; the limit is {cap}. Nothing was changed.");
            Problem::of_field(CAP_EXCEEDED, "quantity", detail)
        }
        ChangeError::Refused(RefusedChange::Insufficient { quantity }) => {
            Problem::of_field(INSUFFICIENT_STOCK, "quantity", format!("Only {quantity} in stock. Nothing was changed."))
        }
        ChangeError::NothingToRelease => Problem::plain(UNKNOWN_ORDER),
        // A lock that others kept for too long is the same to the client as a row that others kept changing.
        ChangeError::Lock(LockError::Busy { .. }) | ChangeError::Conflict { .. } => Problem::plain(CONFLICT),
        ChangeError::Lock(error) => {
            error!(%error, "a lock could not be had");
            Problem::new(Kind::UNAVAILABLE, "The lock could not be had. Nothing was changed; try again in a moment.")
        }
        ChangeError::Store(error) => from_store(&error),
    }
}

fn from_store(error: &StoreError) -> Problem {
    match error {
        StoreError::NameTaken(name) => {
            Problem::of_field(NAME_TAKEN, "name", format!("There is a product called {name:?} already."))
        }
        error if error.outcome_unknown() => {
            error!(%error, "the outcome of a request is unknown");
            Problem::plain(Kind::OUTCOME_UNKNOWN)
        }
        StoreError::Unavailable(sqlx::Error::PoolTimedOut) => {
            warn!("a request was turned away: too many wait for the database");
            Problem::new(Kind::UNAVAILABLE, "Too many requests wait for the database. Nothing was changed; try again.")
        }
        StoreError::Unavailable(_) | StoreError::Library(_) => {
            error!(%error, "the database cannot be used");
            Problem::plain(Kind::UNAVAILABLE)
        }
        error => {
            error!(%error, "a request failed");
            Problem::plain(Kind::INTERNAL)
        }
    }
}
