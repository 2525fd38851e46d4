//! `/link`: the console's own connection to Redis. The links of other programs are in their metrics.

use super::layout::page;
use super::number;
use crate::console::app::App;
use crate::console::rights::Visitor;
use crate::time::{distance, text};
use axum::extract::State;
use evenkeel::link::{Link, LinkState};
use maud::{Markup, html};

pub(super) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let link = app.source.keel.link();
    let body = html! {
        h1 { "Link" }
        section.card {
            @match link {
                Some(link) => (facts(&app, link)),
                None => div.empty { h3 { "No Redis" } p { "This console shows the embedded store of its own process." } },
            }
        }
        p.hint { "Each program has a link of its own; " code { "evenkeel_link_epochs_ended_total" } " in its metrics counts what interrupted it." }
    };
    page(&app, &visitor, "Link", &body)
}

fn facts(app: &App, link: &Link) -> Markup {
    let state = link.state().borrow().clone();
    let snapshot = app.collector.snapshot();
    let epoch = link.epoch();
    html! {
        dl.facts {
            dt { "State" }
            dd { @match state {
                LinkState::Up { .. } => "✓ up",
                LinkState::Down { reason } => { "✕ down: " (reason) },
                LinkState::Closed => "✕ closed",
                _ => "of a kind that this program does not know",
            } }
            dt { "Server" } dd { (link.address()) }
            dt { "Prefix" } dd { (link.prefix()) }
            @if let Some(epoch) = epoch {
                dt { "Version" } dd { (epoch.server_version()) }
                dt { "Epoch" } dd { (number(epoch.number())) " " small { "rises with every reconnection" } }
                dt { "Server's run" } dd.id { (epoch.run_id()) }
                dt { "Replication" } dd.id { (epoch.replication_id()) }
            }
            dt { "Last reading" } dd { @if snapshot.at == 0 { "never" } @else { (distance(snapshot.at, app.collector.now())) } }
            @if let Some(reason) = &snapshot.failed { dt { "Why it failed since" } dd { (reason) } }
            dt { "Server's time" } dd { (text(link.server_now_ms())) }
        }
    }
}
