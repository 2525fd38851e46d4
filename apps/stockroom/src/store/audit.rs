//! The auditor: checks that the tables of a product are consistent with each other and with the rule.

use super::database::{Dialect, Pools};
use super::tables::stocks;
use super::{StoreError, reader};
use evenkeel::sql::PoolTransaction;
use std::collections::BTreeMap;
use std::fmt;

/// The goods of orders that have not returned to the stock.
const HELD: &str = "SUM(CASE WHEN state NOT IN ('released', 'expired') THEN quantity END)";

/// The result of an audit of one product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Quantity in stock.
    pub quantity: i64,
    /// Number of movements.
    pub movements: i64,
    /// Number of deliveries.
    pub deliveries: i64,
    /// Number of days with deliveries.
    pub days: i64,
    /// Inconsistencies.
    pub violations: Vec<Violation>,
}

/// An inconsistency: the rule was broken or a change was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The stock is below 0 or above the cap.
    Rule {
        /// Quantity in stock.
        quantity: i64,
    },
    /// The stock differs from the sum of the ledger.
    Ledger {
        /// Quantity in stock.
        stock: i64,
        /// Sum of the ledger.
        ledger: i64,
    },
    /// The stock differs from the arrivals minus the orders whose goods have not returned.
    Goods {
        /// Quantity in stock.
        stock: i64,
        /// Arrivals minus orders.
        goods: i64,
    },
    /// The arrivals of a day differ from the ledger.
    Day {
        /// The day.
        day: String,
    },
    /// A movement does not start at the result of the previous one: two changes read the same state, and one is lost.
    Lost {
        /// The slot: 0 is the row in `stocks`, others are segments.
        slot: i64,
        /// Its version after the movement.
        version: i64,
    },
    /// A movement left a quantity below 0 or above the cap.
    Passed {
        /// The slot.
        slot: i64,
        /// Its quantity after the movement.
        quantity: i64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { quantity } => write!(f, "{quantity} in stock, outside of the limits"),
            Self::Ledger { stock, ledger } => write!(f, "{stock} in stock, but the ledger adds up to {ledger}"),
            Self::Goods { stock, goods } => {
                write!(f, "{stock} in stock, but arrivals minus reserved orders are {goods}")
            }
            Self::Day { day } => write!(f, "the arrivals of {day} differ from the ledger"),
            Self::Lost { slot, version } => {
                write!(f, "version {version} of slot {slot} does not continue the previous one: a change was lost")
            }
            Self::Passed { slot, quantity } => {
                write!(f, "a movement left {quantity} in slot {slot}, outside of the limits")
            }
        }
    }
}

pub(super) async fn audit<DB: Dialect>(pools: &Pools<DB>, commodity: i64, cap: i64) -> Result<Audit, StoreError> {
    let mut connection = reader(pools).await?;
    let mut snapshot = PoolTransaction::begin_on(&mut connection, DB::BEGIN_SNAPSHOT).await?;
    let whole = stocks::present(stocks::read::<DB>(&mut snapshot, commodity).await?, commodity)?;
    let split = sum::<DB>(&mut snapshot, "SUM(quantity)", "segments", commodity).await?;
    let ledger = sum::<DB>(&mut snapshot, "SUM(delta)", "movements", commodity).await?;
    let arrived = sum::<DB>(&mut snapshot, "SUM(quantity)", "arrivals", commodity).await?;
    let held = sum::<DB>(&mut snapshot, HELD, "orders", commodity).await?;
    let deliveries = sum::<DB>(&mut snapshot, "SUM(deliveries)", "arrivals", commodity).await?;
    let days = sum::<DB>(&mut snapshot, "COUNT(*)", "arrivals", commodity).await?;
    let movements = sum::<DB>(&mut snapshot, "COUNT(*)", "movements", commodity).await?;

    let quantity = whole.quantity + split;
    let mut violations = Vec::new();
    if quantity < 0 || quantity > cap {
        violations.push(Violation::Rule { quantity });
    }
    if ledger != quantity {
        violations.push(Violation::Ledger { stock: quantity, ledger });
    }
    if arrived - held != quantity {
        violations.push(Violation::Goods { stock: quantity, goods: arrived - held });
    }
    violations.extend(days_that_differ::<DB>(&mut snapshot, commodity).await?);
    violations.extend(broken_chains::<DB>(&mut snapshot, commodity, cap).await?);
    snapshot.rollback().await?;
    Ok(Audit { quantity, movements, deliveries, days, violations })
}

/// A sum over the rows of one product.
async fn sum<DB: Dialect>(
    connection: &mut DB::Connection,
    what: &str,
    table: &str,
    commodity: i64,
) -> Result<i64, StoreError> {
    let sql = format!("SELECT CAST(COALESCE({what}, 0) AS {{int}}) FROM {table} WHERE commodity_id = ?");
    let row = DB::fetch_first(connection, &sql, &[commodity.into()]).await?;
    Ok(row.map_or(Ok(0), |row| DB::int_at(&row, 0))?)
}

/// The days whose arrivals differ from the ledger.
async fn days_that_differ<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Vec<Violation>, StoreError> {
    let rows = "SELECT day, quantity FROM arrivals WHERE commodity_id = ?";
    let moved = "SELECT reference, CAST(SUM(delta) AS {int}) FROM movements \
         WHERE commodity_id = ? AND kind = 'arrival' GROUP BY reference";
    let mut days: BTreeMap<String, i64> = BTreeMap::new();
    for row in DB::fetch(connection, rows, &[commodity.into()]).await? {
        *days.entry(DB::text_at(&row, 0)?).or_default() += DB::int_at(&row, 1)?;
    }
    for row in DB::fetch(connection, moved, &[commodity.into()]).await? {
        *days.entry(DB::text_at(&row, 0)?).or_default() -= DB::int_at(&row, 1)?;
    }
    let differ = days.into_iter().filter(|(_, difference)| *difference != 0);
    Ok(differ.map(|(day, _)| Violation::Day { day }).collect())
}

/// Checks every intermediate state: each movement of a slot must start at the result of the previous version.
async fn broken_chains<DB: Dialect>(
    connection: &mut DB::Connection,
    commodity: i64,
    cap: i64,
) -> Result<Vec<Violation>, StoreError> {
    let sql = "SELECT slot, version, delta, quantity FROM movements WHERE commodity_id = ? ORDER BY slot, version, id";
    let mut violations = Vec::new();
    let mut before = (-1, 0, 0);
    for row in DB::fetch(connection, sql, &[commodity.into()]).await? {
        let (slot, version) = (DB::int_at(&row, 0)?, DB::int_at(&row, 1)?);
        let (delta, quantity) = (DB::int_at(&row, 2)?, DB::int_at(&row, 3)?);
        let (last_version, last_quantity) = if before.0 == slot { (before.1, before.2) } else { (0, 0) };
        if version != last_version + 1 || quantity != last_quantity + delta {
            violations.push(Violation::Lost { slot, version });
        }
        if quantity < 0 || quantity > cap {
            violations.push(Violation::Passed { slot, quantity });
        }
        before = (slot, version, quantity);
    }
    Ok(violations)
}
