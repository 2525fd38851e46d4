//! [`Change`]: what is to become of a stock, and the rule.

use super::Day;

/// A change of one product's stock, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The product.
    pub commodity: i64,
    /// How many come (above 0) or go (below 0); never 0.
    pub delta: i64,
    /// Why.
    pub cause: Cause,
}

/// Why a stock changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Goods arrived on this day.
    Arrival(Day),
    /// An order of this id takes goods aside.
    Reserve(String),
    /// The order of this id gives back what it took.
    Release(String),
}

/// The rule forbids the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedChange {
    /// There would be more than the cap.
    #[error("{quantity} in stock; the limit is {cap}")]
    CapExceeded {
        /// Quantity in stock.
        quantity: i64,
        /// How many there may be.
        cap: i64,
    },
    /// There would be fewer than none.
    #[error("there are only {quantity}")]
    Insufficient {
        /// Quantity in stock.
        quantity: i64,
    },
}

impl Change {
    /// How many there are afterwards, where there are `quantity` of at most `cap` now.
    ///
    /// # Errors
    /// The rule forbids it. (A stock above a cap that was lowered may still shrink.)
    pub fn of(&self, quantity: i64, cap: i64) -> Result<i64, RefusedChange> {
        let after = quantity.saturating_add(self.delta);
        if self.delta > 0 && after > cap {
            return Err(RefusedChange::CapExceeded { quantity, cap });
        }
        if after < 0 {
            return Err(RefusedChange::Insufficient { quantity });
        }
        Ok(after)
    }
}

impl Cause {
    /// The kind of movement it becomes in the ledger.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Arrival(_) => "arrival",
            Self::Reserve(_) => "reserve",
            Self::Release(_) => "release",
        }
    }

    /// What the ledger refers to: the day, or the order.
    #[must_use]
    pub fn reference(&self) -> String {
        match self {
            Self::Arrival(day) => day.to_string(),
            Self::Reserve(order) | Self::Release(order) => order.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, Change, RefusedChange};

    fn of(delta: i64, quantity: i64) -> Result<i64, RefusedChange> {
        Change { commodity: 1, delta, cause: Cause::Reserve(String::new()) }.of(quantity, 10)
    }

    #[test]
    fn the_rule_has_two_ends() {
        assert_eq!(of(3, 7), Ok(10));
        assert_eq!(of(4, 7), Err(RefusedChange::CapExceeded { quantity: 7, cap: 10 }));
        assert_eq!(of(-7, 7), Ok(0));
        assert_eq!(of(-8, 7), Err(RefusedChange::Insufficient { quantity: 7 }));
        assert_eq!(of(-1, 20), Ok(19), "above a cap that was lowered");
        assert_eq!(of(i64::MAX, 7), Err(RefusedChange::CapExceeded { quantity: 7, cap: 10 }));
    }
}
