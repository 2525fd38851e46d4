//! `/streams/{stream}`: one stream, its groups and their partitions, read now.

use super::group;
use crate::console::on::On;
use crate::console::pages::layout::page;
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{group_path, number};
use crate::console::rights::Visitor;
use crate::console::source::stream_problem;
use crate::stream::figures::{self, Figures};
use evenkeel::stream::admin::{GroupState, GroupStats};
use maud::{Markup, html};
use web::Problem;

pub(crate) async fn show(On { app, visitor, names: name }: On<String>) -> Result<Markup, Problem> {
    let figures = Figures::read(&app.source.stream(&name).await?).await.map_err(stream_problem)?;
    let body = html! {
        h1 { (wrapping(&name)) }
        section.card { dl.facts {
            dt { "State" } dd { (figures.state()) }
            dt { "Partitions" } dd { (figures.partitions) }
            dt { "Entries" } dd { (figures.entries().map_or_else(|| "-".to_owned(), number)) }
        } }
        @if figures.groups.is_empty() {
            section.card { div.empty { h3 { "No group" } p { "A consumer of a group creates it. Entries without a group are trimmed by age only." } } }
        }
        @for state in &figures.groups { (of_group(&visitor, &name, state)) }
    };
    Ok(page(&app, &visitor, &name, &body))
}

fn of_group(visitor: &Visitor, stream: &str, group: &GroupState) -> Markup {
    let path = group_path(stream, &group.name);
    html! {
        section.card aria-label={ "Group " (group.name) } {
            h2 { "Group " (wrapping(&group.name)) }
            dl.facts {
                dt { "State" } dd { (figures::state(group)) }
                dt { "Order" } dd { (figures::mode(group.mode)) }
                dt { "Unread" } dd { (group.lag_entries().map_or_else(|| "unknown until it has read the end".to_owned(), number)) }
                dt { "Late" } dd { (figures::span(figures::late_ms(group))) }
                dt { "Pending" } dd { (number(group.pending())) " (" (number(figures::delayed(group))) " wait for a retry)" }
                dt { "Oldest pending" } dd { (figures::span(figures::oldest_pending_ms(group))) }
                dt { "Dead letters" } dd { a href={ (path) "/dead" } { (number(group.dead())) } }
                @if figures::parked_keys(group) > 0 { dt { "Parked keys" } dd { (number(figures::parked_keys(group))) } }
            }
            details { summary { "Partitions" } (partitions(group)) }
            (group::forms(visitor, &path, group))
        }
    }
}

fn partitions(group: &GroupState) -> Markup {
    html! {
        div.scroll { table.rows.many {
            thead { tr {
                th.number scope="col" { "Partition" } th.number scope="col" { "Entries" } th scope="col" { "Position" } th.number scope="col" { "Unread" }
                th.number scope="col" { "Pending" } th.number scope="col" { "Dead" } th.number scope="col" { "Owner's lease" } th.number scope="col" { "Fencing token" }
            } }
            tbody { @for (number, stats) in group.partitions.iter().enumerate() { tr {
                td.number data-label="Partition" { (number) }
                @match stats {
                    Some(stats) => (partition(stats)),
                    None => { td colspan="7" { "missing: Redis has lost it" } }
                }
            } } }
        } }
    }
}

fn partition(stats: &GroupStats) -> Markup {
    html! {
        td.number data-label="Entries" { (number(stats.length)) }
        td.id data-label="Position" { (stats.position) }
        td.number data-label="Unread" { (stats.unread_entries.map_or_else(|| "unknown".to_owned(), number)) }
        td.number data-label="Pending" { (number(stats.pending)) }
        td.number data-label="Dead" { (number(stats.dead)) }
        td.number data-label="Owner's lease" {
            @match stats.owner {
                Some((_, _, left)) if left > 0 => { (crate::time::span(left)) },
                Some(_) => "expired",
                None => "-",
            }
        }
        td.number data-label="Fencing token" { (stats.owner.map_or_else(|| "-".to_owned(), |(_, fence, _)| fence.to_string())) }
    }
}
