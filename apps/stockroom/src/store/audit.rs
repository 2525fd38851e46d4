//! The auditor: compares what the tables say of a product's stock with each other and with the rule.

use super::words::{Pools, Words};
use super::{StoreError, reader, stocks};
use sqlx::{Connection, SqlSafeStr};
use std::collections::BTreeMap;
use std::fmt;

/// What the auditor found of one product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Quantity in stock.
    pub quantity: i64,
    /// How many movements there were.
    pub movements: i64,
    /// How many deliveries were written into how many rows of days.
    pub deliveries: (i64, i64),
    /// What does not fit.
    pub violations: Vec<Violation>,
}

/// Something that cannot be if the rule was kept and no change was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// There are fewer than none, or more than the cap.
    Rule {
        /// Quantity in stock.
        quantity: i64,
    },
    /// The stock is not the sum of the ledger.
    Ledger {
        /// The stock.
        stock: i64,
        /// The sum.
        ledger: i64,
    },
    /// The stock is not what arrived without what orders hold.
    Goods {
        /// The stock.
        stock: i64,
        /// What arrived without what orders hold.
        goods: i64,
    },
    /// What arrived on a day is not what the ledger says of it.
    Day {
        /// The day.
        day: String,
    },
    /// A movement did not begin where the one before it ended: two changes read the same state, and one of them is lost.
    Lost {
        /// The slot: 0 is the stock as a whole.
        slot: i64,
        /// The version it ended at.
        version: i64,
    },
    /// A movement left fewer than none, or more than the cap.
    Passed {
        /// The slot.
        slot: i64,
        /// How many it left.
        quantity: i64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { quantity } => write!(f, "there are {quantity}, which the rule forbids"),
            Self::Ledger { stock, ledger } => write!(f, "there are {stock}, and the ledger comes to {ledger}"),
            Self::Goods { stock, goods } => {
                write!(f, "there are {stock}, and arrivals without orders come to {goods}")
            }
            Self::Day { day } => write!(f, "what arrived on {day} is not what the ledger says"),
            Self::Lost { slot, version } => {
                write!(f, "version {version} of slot {slot} did not begin where the one before it ended")
            }
            Self::Passed { slot, quantity } => write!(f, "a movement left {quantity} in slot {slot}"),
        }
    }
}

pub(super) async fn audit<DB: Words>(pools: &Pools<DB>, commodity: i64, cap: i64) -> Result<Audit, StoreError> {
    let mut connection = reader(pools).await?;
    DB::before_snapshot(&mut connection).await?;
    let mut snapshot = connection.begin_with(DB::SNAPSHOT.into_sql_str()).await?;
    let whole = stocks::present(stocks::read::<DB>(&mut snapshot, commodity).await?, commodity)?;
    let split = sum::<DB>(&mut snapshot, "SUM(quantity)", "segments", commodity).await?;
    let ledger = sum::<DB>(&mut snapshot, "SUM(delta)", "movements", commodity).await?;
    let arrived = sum::<DB>(&mut snapshot, "SUM(quantity)", "arrivals", commodity).await?;
    let held =
        sum::<DB>(&mut snapshot, "SUM(CASE WHEN state = 'reserved' THEN quantity END)", "orders", commodity).await?;
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
    Ok(Audit { quantity, movements, deliveries: (deliveries, days), violations })
}

/// A sum over the rows of one product.
async fn sum<DB: Words>(
    connection: &mut DB::Connection,
    what: &str,
    table: &str,
    commodity: i64,
) -> Result<i64, StoreError> {
    let sql = format!("SELECT CAST(COALESCE({what}, 0) AS {{int}}) FROM {table} WHERE commodity_id = ?");
    let row = DB::fetch_first(connection, &sql, &[commodity.into()]).await?;
    Ok(row.map_or(Ok(0), |row| DB::number(&row, 0))?)
}

/// Days whose row and whose movements differ.
async fn days_that_differ<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
) -> Result<Vec<Violation>, StoreError> {
    let rows = "SELECT day, quantity FROM arrivals WHERE commodity_id = ?";
    let moved = "SELECT reference, CAST(SUM(delta) AS {int}) FROM movements \
         WHERE commodity_id = ? AND kind = 'arrival' GROUP BY reference";
    let mut days: BTreeMap<String, i64> = BTreeMap::new();
    for row in DB::fetch(connection, rows, &[commodity.into()]).await? {
        *days.entry(DB::string(&row, 0)?).or_default() += DB::number(&row, 1)?;
    }
    for row in DB::fetch(connection, moved, &[commodity.into()]).await? {
        *days.entry(DB::string(&row, 0)?).or_default() -= DB::number(&row, 1)?;
    }
    let differ = days.into_iter().filter(|(_, difference)| *difference != 0);
    Ok(differ.map(|(day, _)| Violation::Day { day }).collect())
}

/// Walks over the movements of each slot in the order of versions: each must begin where the one before it ended. So every state
/// in between is looked at, not only the last.
async fn broken_chains<DB: Words>(
    connection: &mut DB::Connection,
    commodity: i64,
    cap: i64,
) -> Result<Vec<Violation>, StoreError> {
    let sql = "SELECT slot, version, delta, quantity FROM movements WHERE commodity_id = ? ORDER BY slot, version, id";
    let mut violations = Vec::new();
    let mut before = (-1, 0, 0);
    for row in DB::fetch(connection, sql, &[commodity.into()]).await? {
        let (slot, version) = (DB::number(&row, 0)?, DB::number(&row, 1)?);
        let (delta, quantity) = (DB::number(&row, 2)?, DB::number(&row, 3)?);
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
