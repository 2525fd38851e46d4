//! The queries of products, arrivals and orders.

use super::database::{Dialect, Pools};
use super::records::{Arrival, ArrivalFilter, Order, OrderState, Page, Product};
use super::{StoreError, reader};
use crate::domain::{PageRequest, ProductName};
use web::sql::Value;

/// A product with its stock: the sum of its row and its segments, one of which is always 0.
const PRODUCT: &str = "SELECT c.id, c.name, \
     s.quantity + CAST(COALESCE((SELECT SUM(g.quantity) FROM segments g WHERE g.commodity_id = c.id), 0) AS {int}), \
     (SELECT COUNT(*) FROM segments g WHERE g.commodity_id = c.id AND g.room > 0) \
     FROM commodities c JOIN stocks s ON s.commodity_id = c.id";

const ORDER: &str = "SELECT o.id, o.commodity_id, c.name, o.quantity, o.state, o.created_at, o.updated_at, o.pay_by FROM orders o \
     JOIN commodities c ON c.id = o.commodity_id";

pub(super) async fn product_named<DB: Dialect>(
    pools: &Pools<DB>,
    name: &ProductName,
) -> Result<Option<Product>, StoreError> {
    let sql = format!("{PRODUCT} WHERE c.name = ?");
    let row = DB::fetch_first(&mut *reader(pools).await?, &sql, &[name.as_str().into()]).await?;
    row.map(|row| read_product::<DB>(&row)).transpose()
}

pub(super) async fn product<DB: Dialect>(pools: &Pools<DB>, id: i64) -> Result<Option<Product>, StoreError> {
    let sql = format!("{PRODUCT} WHERE c.id = ?");
    let row = DB::fetch_first(&mut *reader(pools).await?, &sql, &[id.into()]).await?;
    row.map(|row| read_product::<DB>(&row)).transpose()
}

pub(super) async fn products<DB: Dialect>(pools: &Pools<DB>, page: PageRequest) -> Result<Page<Product>, StoreError> {
    let mut connection = reader(pools).await?;
    let sql = format!("{PRODUCT} ORDER BY c.name LIMIT ? OFFSET ?");
    let rows = DB::fetch(&mut connection, &sql, &[i64::from(page.size()).into(), page.skipped().into()]).await?;
    let rows = rows.iter().map(read_product::<DB>).collect::<Result<_, _>>()?;
    let total = count::<DB>(&mut connection, "SELECT COUNT(*) FROM commodities", &[]).await?;
    Ok(Page { rows, total })
}

pub(super) async fn arrivals<DB: Dialect>(
    pools: &Pools<DB>,
    filter: &ArrivalFilter,
    page: PageRequest,
) -> Result<Page<Arrival>, StoreError> {
    let mut clause = String::from(" WHERE 1 = 1");
    let mut values: Vec<Value> = Vec::new();
    if let Some(start) = filter.start {
        clause.push_str(" AND a.day >= ?");
        values.push(start.to_string().into());
    }
    if let Some(end) = filter.end {
        clause.push_str(" AND a.day <= ?");
        values.push(end.to_string().into());
    }
    if let Some(commodity) = filter.commodity {
        clause.push_str(" AND a.commodity_id = ?");
        values.push(commodity.into());
    }
    let mut connection = reader(pools).await?;
    let total = count::<DB>(&mut connection, &format!("SELECT COUNT(*) FROM arrivals a{clause}"), &values).await?;
    let sql = format!(
        "SELECT c.name, a.day, a.quantity, a.deliveries, a.updated_at FROM arrivals a \
         JOIN commodities c ON c.id = a.commodity_id{clause} \
         ORDER BY a.day DESC, a.updated_at DESC, a.commodity_id DESC LIMIT ? OFFSET ?"
    );
    values.extend([Value::Int(i64::from(page.size())), Value::Int(page.skipped())]);
    let rows = DB::fetch(&mut connection, &sql, &values).await?;
    let rows = rows.iter().map(read_arrival::<DB>).collect::<Result<_, _>>()?;
    Ok(Page { rows, total })
}

pub(super) async fn order<DB: Dialect>(pools: &Pools<DB>, id: &str) -> Result<Option<Order>, StoreError> {
    let sql = format!("{ORDER} WHERE o.id = ?");
    let row = DB::fetch_first(&mut *reader(pools).await?, &sql, &[id.into()]).await?;
    row.map(|row| read_order::<DB>(&row)).transpose()
}

/// The newest orders: an id begins with its time of creation.
pub(super) async fn orders<DB: Dialect>(pools: &Pools<DB>, limit: u32) -> Result<Vec<Order>, StoreError> {
    let sql = format!("{ORDER} ORDER BY o.id DESC LIMIT ?");
    let rows = DB::fetch(&mut *reader(pools).await?, &sql, &[i64::from(limit).into()]).await?;
    rows.iter().map(read_order::<DB>).collect()
}

pub(super) async fn ping<DB: Dialect>(pools: &Pools<DB>) -> Result<(), StoreError> {
    DB::fetch(&mut *reader(pools).await?, "SELECT 1 FROM commodities WHERE id = 0", &[]).await?;
    Ok(())
}

async fn count<DB: Dialect>(connection: &mut DB::Connection, sql: &str, values: &[Value]) -> Result<i64, StoreError> {
    let row = DB::fetch_first(connection, sql, values).await?;
    Ok(row.map_or(Ok(0), |row| DB::int_at(&row, 0))?)
}

fn read_product<DB: Dialect>(row: &DB::Row) -> Result<Product, StoreError> {
    Ok(Product {
        id: DB::int_at(row, 0)?,
        name: DB::text_at(row, 1)?,
        quantity: DB::int_at(row, 2)?,
        segments: DB::int_at(row, 3)?,
    })
}

fn read_order<DB: Dialect>(row: &DB::Row) -> Result<Order, StoreError> {
    Ok(Order {
        id: DB::text_at(row, 0)?,
        commodity: DB::int_at(row, 1)?,
        commodity_name: DB::text_at(row, 2)?,
        quantity: DB::int_at(row, 3)?,
        state: OrderState::parse(&DB::text_at(row, 4)?)?,
        created_at: DB::int_at(row, 5)?,
        updated_at: DB::int_at(row, 6)?,
        pay_by: DB::optional_int_at(row, 7)?,
    })
}

fn read_arrival<DB: Dialect>(row: &DB::Row) -> Result<Arrival, StoreError> {
    Ok(Arrival {
        commodity_name: DB::text_at(row, 0)?,
        day: DB::text_at(row, 1)?,
        quantity: DB::int_at(row, 2)?,
        deliveries: DB::int_at(row, 3)?,
        updated_at: DB::int_at(row, 4)?,
    })
}
