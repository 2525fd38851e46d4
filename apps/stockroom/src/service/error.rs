//! [`ServiceError`]: what a use case cannot do.

use crate::store::StoreError;
use crate::strategy::ChangeError;
use std::fmt;

/// What a use case cannot do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A field cannot be what it is.
    #[error("{why}")]
    Invalid {
        /// The field, as requests spell it.
        field: &'static str,
        /// Why, in a sentence.
        why: String,
    },
    /// No product has this name.
    #[error("no product is called {0:?}")]
    UnknownProduct(String),
    /// No order has this id.
    #[error("no order has the id {0:?}")]
    UnknownOrder(String),
    /// The stock was not changed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The database cannot be used, or refused something.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServiceError {
    /// A field that was refused, with the reason as a sentence.
    pub(crate) fn invalid(field: &'static str, why: &impl fmt::Display) -> Self {
        let why = why.to_string();
        let mut characters = why.chars();
        let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
        Self::Invalid { field, why: format!("{first}{}.", characters.as_str()) }
    }
}
