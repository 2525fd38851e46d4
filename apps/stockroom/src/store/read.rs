//! What is read to be told.

use super::goods::{Arrival, ArrivalsWanted, Listed, Order, OrderState, Product};
use super::words::{Pools, Value, Words};
use super::{StoreError, reader};
use crate::domain::{Name, PageRequest};

/// A product with its stock: what is in the row and what is in segments, of which one is always nothing.
const PRODUCT: &str = "SELECT c.id, c.name, \
     s.quantity + CAST(COALESCE((SELECT SUM(g.quantity) FROM segments g WHERE g.commodity_id = c.id), 0) AS {int}), \
     (SELECT COUNT(*) FROM segments g WHERE g.commodity_id = c.id AND g.room > 0) \
     FROM commodities c JOIN stocks s ON s.commodity_id = c.id";

const ORDER: &str = "SELECT o.id, o.commodity_id, c.name, o.quantity, o.state, o.created_at, o.updated_at FROM orders o \
     JOIN commodities c ON c.id = o.commodity_id";

pub(super) async fn product_named<DB: Words>(pools: &Pools<DB>, name: &Name) -> Result<Option<Product>, StoreError> {
    let sql = format!("{PRODUCT} WHERE c.name = ?");
    let row = DB::fetch_first(&mut *reader(pools).await?, &sql, &[name.as_str().into()]).await?;
    row.map(|row| read_product::<DB>(&row)).transpose()
}

pub(super) async fn product<DB: Words>(pools: &Pools<DB>, id: i64) -> Result<Option<Product>, StoreError> {
    let sql = format!("{PRODUCT} WHERE c.id = ?");
    let row = DB::fetch_first(&mut *reader(pools).await?, &sql, &[id.into()]).await?;
    row.map(|row| read_product::<DB>(&row)).transpose()
}

pub(super) async fn products<DB: Words>(pools: &Pools<DB>, page: PageRequest) -> Result<Listed<Product>, StoreError> {
    let mut connection = reader(pools).await?;
    let sql = format!("{PRODUCT} ORDER BY c.name LIMIT ? OFFSET ?");
    let rows = DB::fetch(&mut connection, &sql, &[i64::from(page.size()).into(), page.skipped().into()]).await?;
    let rows = rows.iter().map(read_product::<DB>).collect::<Result<_, _>>()?;
    let total = count::<DB>(&mut connection, "SELECT COUNT(*) FROM commodities", &[]).await?;
    Ok(Listed { rows, total })
}

pub(super) async fn arrivals<DB: Words>(
    pools: &Pools<DB>,
    wanted: &ArrivalsWanted,
    page: PageRequest,
) -> Result<Listed<Arrival>, StoreError> {
    let (start, end) = (wanted.start.map(|day| day.to_string()), wanted.end.map(|day| day.to_string()));
    let mut filter = String::from(" WHERE 1 = 1");
    let mut values: Vec<Value<'_>> = Vec::new();
    if let Some(start) = &start {
        filter.push_str(" AND a.day >= ?");
        values.push(start.as_str().into());
    }
    if let Some(end) = &end {
        filter.push_str(" AND a.day <= ?");
        values.push(end.as_str().into());
    }
    if let Some(commodity) = wanted.commodity {
        filter.push_str(" AND a.commodity_id = ?");
        values.push(commodity.into());
    }
    let mut connection = reader(pools).await?;
    let total = count::<DB>(&mut connection, &format!("SELECT COUNT(*) FROM arrivals a{filter}"), &values).await?;
    let sql = format!(
        "SELECT c.name, a.day, a.quantity, a.deliveries, a.updated_at FROM arrivals a \
         JOIN commodities c ON c.id = a.commodity_id{filter} \
         ORDER BY a.day DESC, a.updated_at DESC, a.commodity_id DESC LIMIT ? OFFSET ?"
    );
    values.extend([Value::Int(i64::from(page.size())), Value::Int(page.skipped())]);
    let rows = DB::fetch(&mut connection, &sql, &values).await?;
    let rows = rows.iter().map(read_arrival::<DB>).collect::<Result<_, _>>()?;
    Ok(Listed { rows, total })
}

pub(super) async fn order<DB: Words>(pools: &Pools<DB>, id: &str) -> Result<Option<Order>, StoreError> {
    let sql = format!("{ORDER} WHERE o.id = ?");
    let row = DB::fetch_first(&mut *reader(pools).await?, &sql, &[id.into()]).await?;
    row.map(|row| read_order::<DB>(&row)).transpose()
}

/// The newest orders: their ids begin with the time.
pub(super) async fn orders<DB: Words>(pools: &Pools<DB>, limit: u32) -> Result<Vec<Order>, StoreError> {
    let sql = format!("{ORDER} ORDER BY o.id DESC LIMIT ?");
    let rows = DB::fetch(&mut *reader(pools).await?, &sql, &[i64::from(limit).into()]).await?;
    rows.iter().map(read_order::<DB>).collect()
}

pub(super) async fn ping<DB: Words>(pools: &Pools<DB>) -> Result<(), StoreError> {
    DB::fetch(&mut *reader(pools).await?, "SELECT 1 FROM commodities WHERE id = 0", &[]).await?;
    Ok(())
}

async fn count<DB: Words>(connection: &mut DB::Connection, sql: &str, values: &[Value<'_>]) -> Result<i64, StoreError> {
    let row = DB::fetch_first(connection, sql, values).await?;
    Ok(row.map_or(Ok(0), |row| DB::number(&row, 0))?)
}

fn read_product<DB: Words>(row: &DB::Row) -> Result<Product, StoreError> {
    Ok(Product {
        id: DB::number(row, 0)?,
        name: DB::string(row, 1)?,
        quantity: DB::number(row, 2)?,
        segments: DB::number(row, 3)?,
    })
}

fn read_order<DB: Words>(row: &DB::Row) -> Result<Order, StoreError> {
    Ok(Order {
        id: DB::string(row, 0)?,
        commodity: DB::number(row, 1)?,
        commodity_name: DB::string(row, 2)?,
        quantity: DB::number(row, 3)?,
        state: OrderState::stored(&DB::string(row, 4)?)?,
        created_at: DB::number(row, 5)?,
        updated_at: DB::number(row, 6)?,
    })
}

fn read_arrival<DB: Words>(row: &DB::Row) -> Result<Arrival, StoreError> {
    Ok(Arrival {
        commodity_name: DB::string(row, 0)?,
        day: DB::string(row, 1)?,
        quantity: DB::number(row, 2)?,
        deliveries: DB::number(row, 3)?,
        updated_at: DB::number(row, 4)?,
    })
}
