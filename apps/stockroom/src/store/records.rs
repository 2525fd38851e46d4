//! Products, arrivals and orders as the service reads them, and inserting a product.

use super::StoreError;
use super::database::{Dialect, Pools};
use crate::domain::{Day, ProductName};

/// A product with its stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Number.
    pub id: i64,
    /// Name.
    pub name: String,
    /// Quantity in stock.
    pub quantity: i64,
    /// Number of segments of the stock; 0: not segmented.
    pub segments: i64,
}

/// The arrivals of a product on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The product.
    pub commodity_name: String,
    /// The day, in the time zone of the stockroom.
    pub day: String,
    /// Quantity of that day.
    pub quantity: i64,
    /// Number of deliveries.
    pub deliveries: i64,
    /// Time of the last delivery, in milliseconds since 1970.
    pub updated_at: i64,
}

/// Which arrivals to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrivalFilter {
    /// First day.
    pub start: Option<Day>,
    /// Last day, inclusive.
    pub end: Option<Day>,
    /// Only of this product.
    pub commodity: Option<i64>,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Id.
    pub id: String,
    /// Number of the product.
    pub commodity: i64,
    /// Name of the product.
    pub commodity_name: String,
    /// Reserved quantity.
    pub quantity: i64,
    /// State.
    pub state: OrderState,
    /// Time of creation, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last change of state, in milliseconds since 1970.
    pub updated_at: i64,
    /// The time by which it must be paid, in milliseconds since 1970; `None`: it does not time out.
    pub pay_by: Option<i64>,
}

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderState {
    /// Its goods are reserved.
    Reserved,
    /// A payment waits for the gateway.
    Paying,
    /// It is paid.
    Paid,
    /// It was released: its goods are back in stock.
    Released,
    /// It was not paid in time: its goods are back in stock.
    Expired,
}

impl OrderState {
    const ALL: [Self; 5] = [Self::Reserved, Self::Paying, Self::Paid, Self::Released, Self::Expired];

    /// The state in the database and in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Paying => "paying",
            Self::Paid => "paid",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == text);
        known.ok_or_else(|| StoreError::Corrupt(format!("unknown state of an order: {text:?}")))
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Its rows.
    pub rows: Vec<T>,
    /// Number of rows in the whole list.
    pub total: i64,
}

pub(super) async fn insert_product<DB: Dialect>(pools: &Pools<DB>, name: &ProductName) -> Result<Product, StoreError> {
    let mut transaction = pools.begin().await?;
    let insert = "INSERT INTO commodities (name) VALUES (?)";
    let inserted = DB::send(&mut transaction, insert, &[name.as_str().into()]).await;
    match inserted {
        Err(error) if error.as_database_error().is_some_and(|known| known.is_unique_violation()) => {
            return Err(StoreError::NameTaken(name.to_string()));
        }
        inserted => inserted?,
    };
    let select = "SELECT id FROM commodities WHERE name = ?";
    let row = DB::fetch_first(&mut transaction, select, &[name.as_str().into()]).await?;
    let id = DB::int_at(&row.ok_or(sqlx::Error::RowNotFound)?, 0)?;
    let stock = "INSERT INTO stocks (commodity_id, quantity, is_split, version) VALUES (?, 0, 0, 0)";
    DB::send(&mut transaction, stock, &[id.into()]).await?;
    transaction.commit().await.map_err(StoreError::of_commit)?;
    Ok(Product { id, name: name.to_string(), quantity: 0, segments: 0 })
}

/// Changes the only row of its table.
pub(super) async fn try_write<DB: Dialect>(pools: &Pools<DB>, now_ms: i64) -> Result<(), StoreError> {
    let mut connection = pools.writer.acquire().await?;
    DB::send(&mut connection, "UPDATE tried_writes SET tried_at = ? WHERE id = 1", &[now_ms.into()]).await?;
    Ok(())
}
