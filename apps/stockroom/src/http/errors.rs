//! Converts the errors of the service to problems.

use super::kind::{
    ALREADY_PAID, CAP_EXCEEDED, CONFLICT, INSUFFICIENT_STOCK, KEY_REUSED, NAME_TAKEN, ORDER_CLOSED,
    PAYMENT_IN_PROGRESS, UNKNOWN_ORDER, UNKNOWN_PAYMENT, UNKNOWN_PRODUCT,
};
use crate::domain::ChangeRejected;
use crate::service::ServiceError;
use crate::store::{PayError, StoreError};
use crate::strategy::ChangeError;
use evenkeel::lock::LockError;
use evenkeel::stream::StreamError;
use tracing::{error, warn};
use web::{Kind, Problem, grouped};

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Invalid { field, reason } => Problem::of_field(Kind::INVALID_INPUT, field, reason),
            ServiceError::UnknownProduct(name) => {
                Problem::of_field(UNKNOWN_PRODUCT, "commodityName", format!("No product is named {name:?}."))
            }
            ServiceError::UnknownOrder(id) => Problem::new(UNKNOWN_ORDER, format!("No order has the id {id:?}.")),
            ServiceError::UnknownPayment(id) => Problem::new(UNKNOWN_PAYMENT, format!("No payment has the id {id:?}.")),
            ServiceError::Pay(error) => from_pay(error),
            ServiceError::PaymentsOff => Problem::new(Kind::UNAVAILABLE, "This service takes no payments."),
            ServiceError::Stream(error) => from_stream(&error),
            ServiceError::Change(error) => from_change(error),
            ServiceError::Store(error) => from_store(&error),
        }
    }
}

/// The stream is opened before anything is changed, by the first request that reaches Redis; later ones need only the database.
fn from_stream(error: &StreamError) -> Problem {
    error!(%error, "the stream of payments cannot be opened");
    let detail = if error.is_retryable() {
        "This instance has not yet reached Redis to open the stream of payments, so orders cannot be paid here. Nothing was changed; try again."
    } else {
        "The stream of payments in Redis cannot be opened, so orders cannot be paid; the log of this instance has the reason. Nothing was changed."
    };
    Problem::new(Kind::UNAVAILABLE, detail)
}

fn from_pay(error: PayError) -> Problem {
    match error {
        PayError::UnknownOrder => Problem::plain(UNKNOWN_ORDER),
        PayError::KeyReused => Problem::plain(KEY_REUSED),
        PayError::InProgress => Problem::plain(PAYMENT_IN_PROGRESS),
        PayError::AlreadyPaid => Problem::plain(ALREADY_PAID),
        PayError::Closed => Problem::plain(ORDER_CLOSED),
        PayError::Sql(error) => from_store(&error.into()),
        PayError::Store(error) => from_store(&error),
    }
}

fn from_change(error: ChangeError) -> Problem {
    match error {
        ChangeError::Rejected(ChangeRejected::CapExceeded { quantity, cap }) => {
            let (quantity, cap) = (grouped(quantity), grouped(cap));
            let detail = format!("{quantity} in stock; the limit is {cap}. Nothing was changed.");
            Problem::of_field(CAP_EXCEEDED, "quantity", detail)
        }
        ChangeError::Rejected(ChangeRejected::Insufficient { quantity }) => {
            let detail = format!("Only {} in stock. Nothing was changed.", grouped(quantity));
            Problem::of_field(INSUFFICIENT_STOCK, "quantity", detail)
        }
        ChangeError::NothingToRelease => Problem::plain(UNKNOWN_ORDER),
        // For the client, a lock that stays busy is the same as a row that keeps changing.
        ChangeError::Lock(LockError::Busy { .. }) | ChangeError::Conflict { .. } => Problem::plain(CONFLICT),
        ChangeError::Lock(error) => {
            error!(%error, "cannot acquire a lock");
            let detail = "The lock service does not respond. Nothing was changed; try again in a moment.";
            Problem::new(Kind::UNAVAILABLE, detail)
        }
        ChangeError::Store(error) => from_store(&error),
    }
}

fn from_store(error: &StoreError) -> Problem {
    match error {
        StoreError::NameTaken(name) => {
            Problem::of_field(NAME_TAKEN, "name", format!("A product named {name:?} already exists."))
        }
        error if error.outcome_unknown() => {
            error!(%error, "the outcome of a request is unknown");
            Problem::plain(Kind::OUTCOME_UNKNOWN)
        }
        error if error.is_pool_timeout() => {
            warn!("a request was rejected: too many requests wait for a database connection");
            let detail = "Too many requests are waiting for the database. Nothing was changed; try again.";
            Problem::new(Kind::UNAVAILABLE, detail)
        }
        error if error.rejects_values() => {
            error!(%error, "the database does not accept a value");
            Problem::new(Kind::INVALID_INPUT, "The database does not accept one of the values. Nothing was changed.")
        }
        error @ (StoreError::Unavailable(_) | StoreError::Library(_)) => {
            error!(%error, "the database failed");
            let refused = |refusal| format!("The database refuses writes: {refusal}. Nothing was changed; try again.");
            let detail = error.refusal().map_or_else(|| Kind::UNAVAILABLE.advice.to_owned(), refused);
            Problem::new(Kind::UNAVAILABLE, detail)
        }
        error => {
            error!(%error, "a request failed");
            Problem::plain(Kind::INTERNAL)
        }
    }
}
