//! [`Load`] and [`Slice`]: which changes are made.

use crate::domain::Strategy;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// How many days arrivals are spread over: few, so that most meet another one of their day.
const DAYS: u64 = 3;

/// The most of anything in one operation.
const QUANTITY_MAX: i64 = 9;

/// What is run by each strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// How many changes.
    pub operations: u64,
    /// How many at once.
    pub in_flight: u64,
    /// How many products they are about.
    pub products: u64,
    /// The most there may be of a product.
    pub cap: i64,
    /// Processes, where there are servers to share.
    pub workers: u64,
    /// Seed of what is chosen at random.
    pub seed: u64,
}

/// One process's share of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// By which strategy.
    pub strategy: String,
    /// The products.
    pub products: Vec<String>,
    /// How many changes.
    pub operations: u64,
    /// How many at once.
    pub in_flight: u64,
    /// The most there may be of a product.
    pub cap: i64,
    /// Seed of what is chosen at random.
    pub seed: u64,
}

/// One change.
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
    /// Gives back what some earlier order took, if there is one; else as `Reserve`.
    Release {
        product: String,
        quantity: i64,
    },
}

impl Load {
    /// All of it, as one process does it.
    #[must_use]
    pub fn whole(&self, strategy: Strategy, products: Vec<String>) -> Slice {
        Slice {
            strategy: strategy.name().to_owned(),
            products,
            operations: self.operations,
            in_flight: self.in_flight,
            cap: self.cap,
            seed: self.seed,
        }
    }
}

impl Slice {
    /// The operation of this number: always the same for the same seed. More come than go, so that a load meets the cap.
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

    /// What is chosen at random for the operation of this number.
    pub(super) fn random(&self, number: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number))
    }
}

#[cfg(test)]
mod tests {
    use super::{Load, Operation};
    use crate::domain::Strategy;

    #[test]
    fn a_seed_names_its_operations() {
        let load = Load { operations: 1_000, in_flight: 1, products: 2, cap: 10, workers: 1, seed: 7 };
        let slice = load.whole(Strategy::Optimistic, vec!["a".to_owned(), "b".to_owned()]);
        let other = load.whole(Strategy::Segmented, vec!["a".to_owned(), "b".to_owned()]);
        let all: Vec<Operation> = (0..1_000).map(|number| slice.operation(number)).collect();
        let again: Vec<Operation> = (0..1_000).map(|number| other.operation(number)).collect();
        assert_eq!(again, all);
        let arrivals = all.iter().filter(|operation| matches!(operation, Operation::Arrive { .. })).count();
        assert!((400..600).contains(&arrivals), "{arrivals}");
    }
}
