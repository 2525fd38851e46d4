//! The statements that the strategies execute within their transactions.

pub(crate) mod ledger;
pub(crate) mod segments;
pub(crate) mod stocks;
