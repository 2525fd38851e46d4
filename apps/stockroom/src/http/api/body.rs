//! The JSON bodies and the parameters of the API.

use crate::domain::{Day, InvalidPage, PageRequest, Strategy, UnknownStrategy};
use crate::service::{OrderChange, Received};
use crate::store::{Arrival, Order, Page, Product};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use web::{Kind, Problem, sentence, timestamp};

/// The locking strategy of a request.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StrategyQuery {
    /// `optimistic`, `pessimistic`, `redis-lock`, `striped`, `redlock`, `conditional-update` or `segmented`; the default is a setting of
    /// the service. Requests may use different strategies at the same time.
    pub(super) strategy: Option<String>,
}

/// A product to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewProduct {
    /// 1 to 100 characters.
    #[schema(example = "apples")]
    pub(super) name: String,
}

/// A product with its stock.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProductBody {
    /// Number.
    #[schema(example = 1)]
    id: i64,
    /// Name.
    #[schema(example = "apples")]
    name: String,
    /// Quantity in stock.
    #[schema(example = 240)]
    quantity: i64,
    /// Limit of the stock.
    #[schema(example = 1000)]
    cap: i64,
    /// Number of segments of the stock; 0 if it is not segmented.
    #[schema(example = 0)]
    segments: i64,
}

/// A page of products, by name.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProductPage {
    /// The products of this page.
    products: Vec<ProductBody>,
    /// Page number, from 1.
    #[schema(example = 1)]
    page: u32,
    /// Page size.
    #[schema(example = 20)]
    per_page: u32,
    /// Number of rows in the whole list.
    #[schema(example = 1)]
    total: i64,
}

/// An arrival of goods.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CreateArrival {
    /// Name of the product.
    #[schema(example = "apples")]
    pub(super) commodity_name: String,
    /// Quantity, 1 to 1,000,000.
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(example = 120)]
    pub(super) quantity: i64,
    /// Day of the arrival; if omitted, today in the stockroom's time zone.
    #[schema(format = Date, example = "2026-11-21")]
    pub(super) day: Option<String>,
}

/// The arrivals of a product on one day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArrivalBody {
    /// Name of the product.
    #[schema(example = "apples")]
    commodity_name: String,
    /// The day.
    #[schema(format = Date, example = "2026-11-21")]
    day: String,
    /// Quantity of that day.
    #[schema(example = 120)]
    quantity: i64,
    /// Number of deliveries on that day.
    #[schema(example = 1)]
    deliveries: i64,
    /// Time of the last delivery.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    updated_at: Timestamp,
}

/// A received delivery.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReceivedBody {
    /// Name of the product.
    #[schema(example = "apples")]
    commodity_name: String,
    /// Day of the arrival.
    #[schema(format = Date, example = "2026-11-21")]
    day: String,
    /// Quantity of that day so far.
    #[schema(example = 120)]
    quantity: i64,
    /// Number of deliveries on that day so far.
    #[schema(example = 1)]
    deliveries: i64,
    /// Quantity in stock after the change.
    #[schema(example = 240)]
    stock: i64,
    /// Locking strategy that was used.
    #[schema(example = "conditional-update")]
    strategy: &'static str,
    /// Number of retries after a conflict with another change.
    #[schema(example = 0)]
    conflicts: u32,
}

/// A page of arrivals, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArrivalPage {
    /// The arrivals of this page.
    arrivals: Vec<ArrivalBody>,
    /// Page number, from 1.
    #[schema(example = 1)]
    page: u32,
    /// Page size.
    #[schema(example = 20)]
    per_page: u32,
    /// Number of rows in the whole list.
    #[schema(example = 1)]
    total: i64,
}

/// Which arrivals to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ArrivalsQuery {
    /// First day (YYYY-MM-DD).
    pub(super) start_date: Option<String>,
    /// Last day, inclusive (YYYY-MM-DD).
    pub(super) end_date: Option<String>,
    /// Only arrivals of this product.
    pub(super) commodity_name: Option<String>,
    /// Page number, from 1.
    #[param(default = 1, minimum = 1)]
    pub(super) page: Option<u32>,
    /// Page size, 1 to 200.
    #[param(default = 20, minimum = 1, maximum = 200)]
    pub(super) per_page: Option<u32>,
}

/// Which product to audit.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    /// Name of the product.
    pub(super) commodity_name: String,
}

/// Which page to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Page number, from 1.
    #[param(default = 1, minimum = 1)]
    pub(super) page: Option<u32>,
    /// Page size, 1 to 200.
    #[param(default = 20, minimum = 1, maximum = 200)]
    pub(super) per_page: Option<u32>,
}

/// An order to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CreateOrder {
    /// Name of the product.
    #[schema(example = "apples")]
    pub(super) commodity_name: String,
    /// Quantity, 1 to 1,000,000.
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(example = 3)]
    pub(super) quantity: i64,
}

/// An order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OrderBody {
    /// Id.
    #[schema(example = "019a8f0e-7c1b-7d3a-9c55-0f6a2b1c4d5e")]
    id: String,
    /// Name of the product.
    #[schema(example = "apples")]
    commodity_name: String,
    /// Reserved quantity.
    #[schema(example = 3)]
    quantity: i64,
    /// `reserved`, `paying` while a payment waits for the gateway, `paid`; `released`, or `expired` if it was not paid in time: its goods
    /// are back in stock.
    #[schema(example = "reserved")]
    state: &'static str,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    created_at: Timestamp,
    /// Time of the last change of state.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    updated_at: Timestamp,
    /// Time by which it must be paid; omitted if it does not time out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-11-21T14:30:00Z")]
    pay_by: Option<Timestamp>,
}

/// An order that was created or released.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OrderChangeBody {
    /// The order.
    #[serde(flatten)]
    order: OrderBody,
    /// Quantity in stock after the change; omitted if the order was already released.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 237)]
    stock: Option<i64>,
    /// Locking strategy that was used.
    #[schema(example = "conditional-update")]
    strategy: &'static str,
    /// Number of retries after a conflict with another change.
    #[schema(example = 0)]
    conflicts: u32,
}

impl StrategyQuery {
    pub(super) fn parsed(&self) -> Result<Option<Strategy>, Problem> {
        self.strategy.as_deref().map(strategy).transpose()
    }
}

impl ProductBody {
    pub(super) fn new(product: Product, cap: i64) -> Self {
        let Product { id, name, quantity, segments } = product;
        Self { id, name, quantity, cap, segments }
    }
}

impl ProductPage {
    pub(super) fn new(listed: Page<Product>, request: PageRequest, cap: i64) -> Self {
        Self {
            products: listed.rows.into_iter().map(|product| ProductBody::new(product, cap)).collect(),
            page: request.number(),
            per_page: request.size(),
            total: listed.total,
        }
    }
}

impl ArrivalPage {
    pub(super) fn new(listed: Page<Arrival>, request: PageRequest) -> Self {
        let body = |arrival: Arrival| ArrivalBody {
            commodity_name: arrival.commodity_name,
            day: arrival.day,
            quantity: arrival.quantity,
            deliveries: arrival.deliveries,
            updated_at: timestamp(arrival.updated_at),
        };
        Self {
            arrivals: listed.rows.into_iter().map(body).collect(),
            page: request.number(),
            per_page: request.size(),
            total: listed.total,
        }
    }
}

impl ReceivedBody {
    pub(super) fn new(received: Received) -> Self {
        Self {
            commodity_name: received.commodity_name,
            day: received.day.to_string(),
            quantity: received.quantity,
            deliveries: received.deliveries,
            stock: received.applied.quantity,
            strategy: received.strategy.name(),
            conflicts: received.applied.conflicts,
        }
    }
}

impl OrderBody {
    pub(super) fn new(order: Order) -> Self {
        Self {
            id: order.id,
            commodity_name: order.commodity_name,
            quantity: order.quantity,
            state: order.state.as_str(),
            created_at: timestamp(order.created_at),
            updated_at: timestamp(order.updated_at),
            pay_by: order.pay_by.map(timestamp),
        }
    }
}

impl OrderChangeBody {
    pub(super) fn new(change: OrderChange) -> Self {
        Self {
            order: OrderBody::new(change.order),
            stock: change.applied.map(|applied| applied.quantity),
            strategy: change.strategy.name(),
            conflicts: change.applied.map_or(0, |applied| applied.conflicts),
        }
    }
}

/// Parses the name of a strategy.
pub(crate) fn strategy(name: &str) -> Result<Strategy, Problem> {
    name.parse().map_err(|error: UnknownStrategy| invalid("strategy", &error))
}

/// Parses a day; an empty text is `None`.
pub(crate) fn day(field: &str, text: Option<&str>) -> Result<Option<Day>, Problem> {
    let parsed = text.filter(|text| !text.is_empty()).map(Day::parse).transpose();
    parsed.map_err(|error| invalid(field, &error))
}

/// A page with the defaults for omitted parameters.
pub(crate) fn page(number: Option<u32>, size: Option<u32>) -> Result<PageRequest, Problem> {
    let request = PageRequest::new(number.unwrap_or(1), size.unwrap_or(crate::domain::ROWS));
    request.map_err(|error| invalid(if error == InvalidPage::Size { "perPage" } else { "page" }, &error))
}

fn invalid(field: &str, error: &impl std::fmt::Display) -> Problem {
    Problem::of_field(Kind::INVALID_INPUT, field, sentence(error))
}
