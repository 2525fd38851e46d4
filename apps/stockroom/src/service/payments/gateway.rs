//! The test gateway. It stands in for a company that charges cards: it fails, hangs and answers twice, as its cards say.

use crate::domain::TestCard;
use crate::store::{Payment, Store, StoreError};
use std::future::pending;

/// Why the gateway has not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum GatewayError {
    /// It has failed, and it is unknown whether it has charged the card.
    #[error("the gateway failed")]
    Failed,
    /// It is unreachable.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Charges a card. The gateway knows the payment by its id, so a repeated request is the same charge. Returns its answers, of which each
/// says whether the charge is approved. Never ends if the gateway hangs.
pub(super) async fn charge(store: &Store, payment: &Payment) -> Result<Vec<bool>, GatewayError> {
    let charge = store.charge(payment).await?;
    let approved = charge.approved.ok_or(GatewayError::Failed)?;
    match payment.card {
        TestCard::HangsOnce if charge.requests == 1 => pending().await,
        TestCard::AnswersTwice => Ok(vec![approved, approved]),
        _ => Ok(vec![approved]),
    }
}
