//! The two lists: what is there, and what arrived.

use crate::domain::PageRequest;
use crate::store::{Arrival, Listed, Product};
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;

/// What the address of the page says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct View {
    /// From this day on.
    pub(super) start_date: Option<String>,
    /// Up to this day.
    pub(super) end_date: Option<String>,
    /// Only of this product.
    pub(super) commodity_name: Option<String>,
    pub(super) page: Option<u32>,
    /// The product that arrived just now.
    pub(super) arrived: Option<String>,
    /// The product that was added just now.
    pub(super) added: Option<String>,
    /// The order that was made just now.
    pub(super) reserved: Option<String>,
    /// The order that was released just now.
    pub(super) released: Option<String>,
}

/// What is there.
pub(super) fn stock(products: &Listed<Product>, cap: i64) -> Markup {
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
                        td.number { (product.quantity) }
                        td.number { (cap) }
                    }
                } }
            }
        }
    }
}

/// What arrived, newest first.
pub(super) fn arrivals(
    view: &View,
    products: &Listed<Product>,
    arrivals: &Listed<Arrival>,
    request: PageRequest,
) -> Markup {
    html! {
        section.card aria-labelledby="arrivals" {
            h2 id="arrivals" { "Arrivals" }
            (filters(view, products))
            @if arrivals.rows.is_empty() {
                div.empty { h3 { "Nothing found" } p { "No goods arrived in these days." } }
            } @else {
                table.arrivals {
                    thead { tr {
                        th scope="col" { "Day" }
                        th scope="col" { "Product" }
                        th.number scope="col" { "Arrived" }
                        th.number scope="col" { "Deliveries" }
                    } }
                    tbody { @for arrival in &arrivals.rows {
                        tr {
                            td { time datetime=(arrival.day) { (arrival.day) } }
                            td { (arrival.commodity_name) }
                            td.number data-label="Arrived" { (arrival.quantity) }
                            td.number data-label="Deliveries" { (arrival.deliveries) }
                        }
                    } }
                }
            }
            (pages(view, arrivals, request))
        }
    }
}

fn filters(view: &View, products: &Listed<Product>) -> Markup {
    let wanted = view.commodity_name.as_deref().unwrap_or_default();
    html! {
        form method="get" action="/" role="search" {
            div.fields.four {
                div.field {
                    label for="startDate" { "From" }
                    input type="date" id="startDate" name="startDate" value=(view.start_date.as_deref().unwrap_or_default());
                }
                div.field {
                    label for="endDate" { "Up to" }
                    input type="date" id="endDate" name="endDate" value=(view.end_date.as_deref().unwrap_or_default());
                }
                div.field {
                    label for="product" { "Product" }
                    select id="product" name="commodityName" {
                        option value="" { "All" }
                        @for product in &products.rows {
                            option value=(product.name) selected[product.name == wanted] { (product.name) }
                        }
                    }
                }
                div.actions { button type="submit" { "Show" } }
            }
        }
    }
}

fn pages(view: &View, arrivals: &Listed<Arrival>, request: PageRequest) -> Markup {
    let shown = i64::try_from(arrivals.rows.len()).unwrap_or_default();
    let (first, last) = (request.skipped() + 1, request.skipped() + shown);
    html! {
        @if shown > 0 || request.number() > 1 {
            nav.pages aria-label="Pages" {
                span {
                    @if shown > 0 { (first) "–" (last) " of " (arrivals.total) } @else { "This page is empty." }
                }
                div.actions {
                    @if request.number() > 1 {
                        a.button.small rel="prev" href=(address(view, request.number() - 1)) { "Previous" }
                    }
                    @if last < arrivals.total {
                        a.button.small rel="next" href=(address(view, request.number() + 1)) { "Next" }
                    }
                }
            }
        }
    }
}

fn address(view: &View, page: u32) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let filters =
        [("startDate", &view.start_date), ("endDate", &view.end_date), ("commodityName", &view.commodity_name)];
    for (name, value) in filters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    query.append_pair("page", &page.to_string());
    format!("/?{}", query.finish())
}
