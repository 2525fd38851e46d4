//! [`StockChange`] and the rule: a stock is never negative and never above its cap.

use super::Day;

/// A change of one product's stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockChange {
    /// The product.
    pub commodity: i64,
    /// Positive for goods that arrive, negative for goods that leave; never 0.
    pub delta: i64,
    /// Its cause.
    pub cause: Cause,
}

/// The cause of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Goods arrived on this day.
    Arrival(Day),
    /// An order reserves goods.
    Reserve {
        /// Its id.
        order: String,
        /// The time by which it must be paid, in milliseconds since 1970.
        pay_by: Option<i64>,
    },
    /// The order with this id is released.
    Release(String),
    /// The order with this id was not paid in time.
    Expire(String),
}

/// Why the rule forbids a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRejected {
    /// The stock would exceed its cap.
    #[error("{quantity} in stock; the limit is {cap}")]
    CapExceeded {
        /// Quantity in stock.
        quantity: i64,
        /// The cap.
        cap: i64,
    },
    /// The stock would be negative.
    #[error("only {quantity} in stock")]
    Insufficient {
        /// Quantity in stock.
        quantity: i64,
    },
}

impl StockChange {
    /// The quantity after the change.
    ///
    /// # Errors
    /// The rule forbids it. (A stock above a lowered cap may still decrease.)
    pub fn apply(&self, quantity: i64, cap: i64) -> Result<i64, ChangeRejected> {
        let after = quantity.saturating_add(self.delta);
        if self.delta > 0 && after > cap {
            return Err(ChangeRejected::CapExceeded { quantity, cap });
        }
        if after < 0 {
            return Err(ChangeRejected::Insufficient { quantity });
        }
        Ok(after)
    }
}

impl Cause {
    /// The kind of its movements in the ledger.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Arrival(_) => "arrival",
            Self::Reserve { .. } => "reserve",
            Self::Release(_) => "release",
            Self::Expire(_) => "expire",
        }
    }

    /// The reference of its movements in the ledger: the day or the order.
    #[must_use]
    pub fn reference(&self) -> String {
        match self {
            Self::Arrival(day) => day.to_string(),
            Self::Reserve { order, .. } | Self::Release(order) | Self::Expire(order) => order.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, ChangeRejected, StockChange};

    fn apply(delta: i64, quantity: i64) -> Result<i64, ChangeRejected> {
        StockChange { commodity: 1, delta, cause: Cause::Release(String::new()) }.apply(quantity, 10)
    }

    #[test]
    fn change_is_rejected_outside_of_the_limits() {
        assert_eq!(apply(3, 7), Ok(10));
        assert_eq!(apply(4, 7), Err(ChangeRejected::CapExceeded { quantity: 7, cap: 10 }));
        assert_eq!(apply(-7, 7), Ok(0));
        assert_eq!(apply(-8, 7), Err(ChangeRejected::Insufficient { quantity: 7 }));
        assert_eq!(apply(-1, 20), Ok(19), "above a lowered cap");
        assert_eq!(apply(i64::MAX, 7), Err(ChangeRejected::CapExceeded { quantity: 7, cap: 10 }));
    }
}
