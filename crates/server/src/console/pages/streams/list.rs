//! `/streams`: all streams.

use crate::console::app::App;
use crate::console::pages::layout::page;
use crate::console::pages::overview::age;
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{number, stream_path};
use crate::console::rights::Visitor;
use crate::stream::figures::{Figures, span};
use axum::extract::State;
use maud::{Markup, html};

pub(crate) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let snapshot = app.collector.snapshot();
    let body = html! {
        h1 { "Streams" }
        p.hint { "Read " (age(&snapshot, app.collector.now())) }
        @if let Some(reason) = &snapshot.streams_failed { div.notice.bad { p { "✕ The streams could not be read: " (reason) } } }
        section.card {
            @if snapshot.streams.is_empty() {
                div.empty {
                    h3 { (if snapshot.at == 0 { "Not read yet" } else { "No stream under this prefix" }) }
                    p { "The prefix is " code { (app.source.name()) } ". To see which prefixes have streams: " code { "evenkeel stream ls" } }
                }
            } @else { (table(&snapshot.streams)) }
        }
    };
    page(&app, &visitor, "Streams", &body)
}

/// The streams with the sums over their groups.
pub(crate) fn table(streams: &[Figures]) -> Markup {
    html! {
        div.scroll { table.rows.many {
            thead { tr {
                th scope="col" { "Stream" } th scope="col" { "State" } th.number scope="col" { "Partitions" } th.number scope="col" { "Entries" }
                th.number scope="col" { "Groups" } th.number scope="col" { "Late" } th.number scope="col" { "Pending" } th.number scope="col" { "Dead" }
            } }
            tbody { @for stream in streams { tr {
                td { a href=(stream_path(&stream.name)) { (wrapping(&stream.name)) } }
                td data-label="State" { (stream.state()) }
                td.number data-label="Partitions" { (stream.partitions) }
                td.number data-label="Entries" { (stream.entries().map_or_else(|| "-".to_owned(), number)) }
                td.number data-label="Groups" { (stream.groups.len()) }
                td.number data-label="Late" { (span(stream.late_ms())) }
                td.number data-label="Pending" { (number(stream.pending())) }
                td.number data-label="Dead" { (number(stream.dead())) }
            } } }
        } }
    }
}
