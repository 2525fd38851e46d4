//! [`Load`] and [`Share`]: which operations are executed.

use crate::domain::Strategy;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// Number of days of arrivals: few, so that most deliveries are merged.
const DAYS: u64 = 3;

/// Maximum quantity of an operation.
const QUANTITY_MAX: i64 = 9;

/// The load of each strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of operations.
    pub operations: u64,
    /// Number of concurrent operations.
    pub in_flight: u64,
    /// Number of products.
    pub products: u64,
    /// Limit of the stock of each product.
    pub cap: i64,
    /// Number of worker processes.
    pub workers: u64,
    /// Seed of the random operations.
    pub seed: u64,
}

/// One process's share of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Name of the strategy.
    pub strategy: String,
    /// Names of the products.
    pub products: Vec<String>,
    /// Number of operations.
    pub operations: u64,
    /// Number of concurrent operations.
    pub in_flight: u64,
    /// Limit of the stock of each product.
    pub cap: i64,
    /// Seed of the random operations.
    pub seed: u64,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Arrive {
        product: String,
        quantity: i64,
        day: String,
    },
    Reserve {
        product: String,
        quantity: i64,
    },
    /// Releases an earlier order, if there is one; otherwise like `Reserve`.
    Release {
        product: String,
        quantity: i64,
    },
}

impl Load {
    /// The whole load as one share.
    #[must_use]
    pub fn whole(&self, strategy: Strategy, products: Vec<String>) -> Share {
        Share {
            strategy: strategy.name().to_owned(),
            products,
            operations: self.operations,
            in_flight: self.in_flight,
            cap: self.cap,
            seed: self.seed,
        }
    }
}

impl Share {
    /// The operation with this number, which depends only on the seed. More goods arrive than leave, so that the load reaches the cap.
    pub(super) fn operation(&self, number: u64) -> Operation {
        let mut random = self.random(number);
        let quantity = random.random_range(1..=QUANTITY_MAX);
        let product = usize::try_from(random.random_range(0..self.products.len().max(1) as u64)).unwrap_or(0);
        let product = self.products.get(product).cloned().unwrap_or_default();
        match random.random_range(0..100) {
            0..50 => {
                let day = format!("2026-11-{:02}", 1 + random.random_range(0..DAYS));
                Operation::Arrive { product, quantity, day }
            }
            50..85 => Operation::Reserve { product, quantity },
            _ => Operation::Release { product, quantity },
        }
    }

    /// The random numbers of the operation with this number.
    pub(super) fn random(&self, number: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number))
    }
}

#[cfg(test)]
mod tests {
    use super::{Load, Operation};
    use crate::domain::Strategy;

    #[test]
    fn seed_determines_operations() {
        let load = Load { operations: 1_000, in_flight: 1, products: 2, cap: 10, workers: 1, seed: 7 };
        let share = load.whole(Strategy::Optimistic, vec!["a".to_owned(), "b".to_owned()]);
        let other = load.whole(Strategy::Segmented, vec!["a".to_owned(), "b".to_owned()]);
        let all: Vec<Operation> = (0..1_000).map(|number| share.operation(number)).collect();
        let again: Vec<Operation> = (0..1_000).map(|number| other.operation(number)).collect();
        assert_eq!(again, all);
        let arrivals = all.iter().filter(|operation| matches!(operation, Operation::Arrive { .. })).count();
        assert!((400..600).contains(&arrivals), "{arrivals}");
    }
}
