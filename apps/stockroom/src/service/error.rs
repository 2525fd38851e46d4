//! [`ServiceError`]: why a use case failed.

use crate::store::{PayError, StoreError};
use crate::strategy::ChangeError;
use evenkeel::stream::StreamError;
use std::fmt;
use web::sentence;

/// Why a use case failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A field is invalid.
    #[error("{reason}")]
    Invalid {
        /// The field, as in requests.
        field: &'static str,
        /// The reason, as a sentence.
        reason: String,
    },
    /// No product has this name.
    #[error("no product is named {0:?}")]
    UnknownProduct(String),
    /// No order has this id.
    #[error("no order has the id {0:?}")]
    UnknownOrder(String),
    /// No payment has this id.
    #[error("no payment has the id {0:?}")]
    UnknownPayment(String),
    /// The order cannot be paid, or cannot be released because of a payment.
    #[error(transparent)]
    Pay(PayError),
    /// This service was opened without payments.
    #[error("payments are off")]
    PaymentsOff,
    /// Redis. Of a request to pay: the stream of payments cannot be opened, and nothing was changed. Of a search: it cannot be opened, or a
    /// payment may not have been appended to it.
    #[error(transparent)]
    Stream(StreamError),
    /// The stock was not changed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServiceError {
    /// Whether the database, or Redis, is unreachable, so that the next call would fail for the same reason.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            Self::Store(error) | Self::Change(ChangeError::Store(error)) => {
                error.is_unreachable() || error.is_pool_timeout()
            }
            Self::Stream(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// An invalid field.
    pub(crate) fn invalid(field: &'static str, reason: &impl fmt::Display) -> Self {
        Self::Invalid { field, reason: sentence(reason) }
    }
}
