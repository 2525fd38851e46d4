//! The lists of the stock and of the arrivals.

use crate::domain::PageRequest;
use crate::store::{Arrival, Page, Product};
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;
use web::{forms, grouped};

/// The query string of the page.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PageQuery {
    /// First day of the arrivals.
    pub(super) start_date: Option<String>,
    /// Last day of the arrivals, inclusive.
    pub(super) end_date: Option<String>,
    /// Only arrivals of this product.
    pub(super) commodity_name: Option<String>,
    pub(super) page: Option<u32>,
    /// The product that was just received.
    pub(super) arrived: Option<String>,
    /// The product that was just added.
    pub(super) added: Option<String>,
    /// The order that was just created.
    pub(super) reserved: Option<String>,
    /// The order that was just released.
    pub(super) released: Option<String>,
}

/// The stock.
pub(super) fn stock(products: &Page<Product>, cap: i64) -> Markup {
    html! {
        section.card aria-labelledby="stock" {
            h1 id="stock" { "Stock" }
            table.stock {
                thead { tr {
                    th scope="col" { "Product" }
                    th.level scope="col" { span hidden { "Level" } }
                    th.number scope="col" { "In stock" }
                    th.number scope="col" { "Limit" }
                } }
                tbody { @for product in &products.rows {
                    tr {
                        td { (product.name) }
                        td.level { progress value=(product.quantity) max=(cap) aria-label={ "Level of " (product.name) } {} }
                        td.number data-label="In stock" { (grouped(product.quantity)) }
                        td.number data-label="Limit" { (grouped(cap)) }
                    }
                } }
            }
        }
    }
}

/// The arrivals, newest first.
pub(super) fn arrivals(
    query: &PageQuery,
    products: &Page<Product>,
    arrivals: &Page<Arrival>,
    request: PageRequest,
) -> Markup {
    html! {
        section.card aria-labelledby="arrivals" {
            h2 id="arrivals" { "Arrivals" }
            (filters(query, products))
            @if arrivals.rows.is_empty() {
                div.empty { h3 { "No arrivals" } p { "No goods arrived in this period." } }
            } @else {
                table.arrivals {
                    thead { tr {
                        th scope="col" { "Day" }
                        th scope="col" { "Product" }
                        th.number scope="col" { "Quantity" }
                        th.number scope="col" { "Deliveries" }
                    } }
                    tbody { @for arrival in &arrivals.rows {
                        tr {
                            td { time datetime=(arrival.day) { (arrival.day) } }
                            td { (arrival.commodity_name) }
                            td.number data-label="Quantity" { (grouped(arrival.quantity)) }
                            td.number data-label="Deliveries" { (grouped(arrival.deliveries)) }
                        }
                    } }
                }
            }
            (pages(query, arrivals, request))
        }
    }
}

fn filters(query: &PageQuery, products: &Page<Product>) -> Markup {
    let selected = query.commodity_name.as_deref().unwrap_or_default();
    html! {
        form method="get" action="/" role="search" {
            div.fields.four {
                div.field {
                    label for="startDate" { "From" }
                    input type="date" id="startDate" name="startDate" value=(query.start_date.as_deref().unwrap_or_default());
                }
                div.field {
                    label for="endDate" { "To" }
                    input type="date" id="endDate" name="endDate" value=(query.end_date.as_deref().unwrap_or_default());
                }
                div.field {
                    label for="product" { "Product" }
                    select id="product" name="commodityName" {
                        option value="" { "All" }
                        @for product in &products.rows {
                            option value=(product.name) selected[product.name == selected] { (product.name) }
                        }
                    }
                }
                div.actions { button type="submit" { "Filter" } }
            }
        }
    }
}

fn pages(query: &PageQuery, arrivals: &Page<Arrival>, request: PageRequest) -> Markup {
    let shown = i64::try_from(arrivals.rows.len()).unwrap_or_default();
    let (first, last) = (request.skipped() + 1, request.skipped() + shown);
    let range = html! { (grouped(first)) "–" (grouped(last)) " of " (grouped(arrivals.total)) };
    let address = |page| address(query, page);
    forms::pages(request.number(), (shown > 0).then_some(&range), last < arrivals.total, address)
}

fn address(query: &PageQuery, page: u32) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let filters =
        [("startDate", &query.start_date), ("endDate", &query.end_date), ("commodityName", &query.commodity_name)];
    for (name, value) in filters {
        if let Some(value) = value {
            pairs.append_pair(name, value);
        }
    }
    pairs.append_pair("page", &page.to_string());
    format!("/?{}", pairs.finish())
}
