//! What the search for overdue orders and payments reads. Those that it has not looked at for the longest time come first: however many
//! cannot be ended yet, the others have their turn.

use crate::store::database::{Dialect, Pools};
use crate::store::{Store, StoreError, reader, with_pools};
use web::guard;

/// The most orders, and the most payments, of one search.
pub(crate) const SEARCH_MAX: usize = 100;

/// Which orders or payments a search finds; times in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    /// Orders to be paid, or payments requested, before this time.
    pub(crate) since_before: i64,
    /// No search has looked at them after this time.
    pub(crate) searched_until: i64,
}

/// A payment that the gateway has not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingPayment {
    pub(crate) id: String,
    /// Number of the product.
    pub(crate) commodity: i64,
}

impl Store {
    /// Unpaid orders whose time to pay has ended.
    pub(crate) async fn overdue_orders(&self, overdue: Overdue) -> Result<Vec<String>, StoreError> {
        with_pools!(self, pools => orders(pools, overdue).await)
    }

    /// Payments that wait for the gateway.
    pub(crate) async fn overdue_payments(&self, overdue: Overdue) -> Result<Vec<PendingPayment>, StoreError> {
        with_pools!(self, pools => payments(pools, overdue).await)
    }

    /// Claims an order for a search: for a while, no other one finds it. Returns `false` if another search has claimed it in the meantime, or
    /// it is not unpaid any more.
    pub(crate) async fn claim_order(&self, order: &str, overdue: Overdue) -> Result<bool, StoreError> {
        let sql = "UPDATE orders SET searched_at = ? WHERE id = ? AND state = 'reserved' AND searched_at <= ?";
        with_pools!(self, pools => claim(pools, sql, order, self.signed_now_ms(), overdue).await)
    }

    /// Claims a payment for a search, as [`claim_order`](Self::claim_order).
    pub(crate) async fn claim_payment(&self, payment: &str, overdue: Overdue) -> Result<bool, StoreError> {
        let sql = "UPDATE payments SET searched_at = ? WHERE id = ? AND state = 'pending' AND searched_at <= ?";
        with_pools!(self, pools => claim(pools, sql, payment, self.signed_now_ms(), overdue).await)
    }
}

async fn orders<DB: Dialect>(pools: &Pools<DB>, overdue: Overdue) -> Result<Vec<String>, StoreError> {
    let mut sql = "SELECT id FROM orders WHERE state = 'reserved' AND pay_by < ? AND searched_at <= ? \
         ORDER BY searched_at, pay_by LIMIT ?";
    if !guard("search_rotates") {
        sql = "SELECT id FROM orders WHERE state = 'reserved' AND pay_by < ? AND searched_at <= ? ORDER BY pay_by LIMIT ?";
    }
    let rows = found(pools, sql, overdue).await?;
    Ok(rows.iter().map(|row| DB::text_at(row, 0)).collect::<Result<_, _>>()?)
}

/// Only what the search needs: a value that cannot be read would hide all other payments.
async fn payments<DB: Dialect>(pools: &Pools<DB>, overdue: Overdue) -> Result<Vec<PendingPayment>, StoreError> {
    let sql = "SELECT p.id, o.commodity_id FROM payments p JOIN orders o ON o.id = p.order_id \
         WHERE p.state = 'pending' AND p.updated_at < ? AND p.searched_at <= ? ORDER BY p.searched_at, p.updated_at LIMIT ?";
    let rows = found(pools, sql, overdue).await?;
    let pending = |row: &DB::Row| Ok(PendingPayment { id: DB::text_at(row, 0)?, commodity: DB::int_at(row, 1)? });
    rows.iter().map(pending).collect()
}

async fn found<DB: Dialect>(pools: &Pools<DB>, sql: &str, overdue: Overdue) -> Result<Vec<DB::Row>, StoreError> {
    let most = i64::try_from(SEARCH_MAX).unwrap_or(i64::MAX);
    let values = [overdue.since_before, overdue.searched_until, most].map(Into::into);
    Ok(DB::fetch(&mut *reader(pools).await?, sql, &values).await?)
}

async fn claim<DB: Dialect>(
    pools: &Pools<DB>,
    sql: &str,
    id: &str,
    now_ms: i64,
    overdue: Overdue,
) -> Result<bool, StoreError> {
    let mut connection = pools.writer.acquire().await?;
    Ok(DB::send(&mut connection, sql, &[now_ms.into(), id.into(), overdue.searched_until.into()]).await? == 1)
}
