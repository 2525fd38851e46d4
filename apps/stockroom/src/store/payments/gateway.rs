//! The charges of the test gateway. It stands in for another company's system, so its transaction is its own, and it knows payments by their
//! id: a request that is repeated is the same charge.

use crate::domain::TestCard;
use crate::store::StoreError;
use crate::store::database::{Dialect, Pools};

/// A charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// How often it was requested.
    pub(crate) requests: i64,
    /// `None` if the gateway has not decided.
    pub(crate) approved: Option<bool>,
}

/// Requests a charge: decides about it, unless it was decided before.
pub(super) async fn charge<DB: Dialect>(
    pools: &Pools<DB>,
    payment: &str,
    card: TestCard,
) -> Result<Charge, StoreError> {
    let mut transaction = pools.begin().await?;
    let update = "UPDATE gateway_charges SET requests = requests + 1 WHERE payment_id = ?";
    if DB::send(&mut transaction, update, &[payment.into()]).await? == 0 {
        let insert = "INSERT INTO gateway_charges (payment_id, requests) VALUES (?, 1)";
        DB::send(&mut transaction, insert, &[payment.into()]).await?;
    }
    let select = "SELECT requests, approved FROM gateway_charges WHERE payment_id = ?";
    let row = DB::fetch_first(&mut transaction, select, &[payment.into()]).await?.ok_or(sqlx::Error::RowNotFound)?;
    let (requests, decided) = (DB::int_at(&row, 0)?, DB::optional_int_at(&row, 1)?);
    let approved = match decided {
        Some(approved) => Some(approved != 0),
        None if card == TestCard::FailsOnce && requests == 1 => None,
        None => Some(card != TestCard::Declined),
    };
    if let (None, Some(approved)) = (decided, approved) {
        let update = "UPDATE gateway_charges SET approved = ? WHERE payment_id = ?";
        DB::send(&mut transaction, update, &[i64::from(approved).into(), payment.into()]).await?;
    }
    transaction.commit().await.map_err(StoreError::of_commit)?;
    Ok(Charge { requests, approved })
}
