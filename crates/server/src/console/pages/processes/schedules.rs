//! `/schedules`: the recurring jobs that processes run, and their next ticks.

use super::{ROWS_MAX, left_out, name, not_reported, notes};
use crate::console::app::App;
use crate::console::pages::layout::page;
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{number, topic_path};
use crate::console::rights::Visitor;
use crate::process::figures::schedules;
use crate::time::{distance, text};
use axum::extract::State;
use maud::{Markup, html};

pub(crate) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let reports = app.collector.reports().await;
    let (all, now) = (schedules(&reports.found), reports.found.now_ms);
    let body = html! {
        h1 { "Schedules" }
        (notes(&reports))
        section.card {
            @if all.is_empty() { (not_reported(&reports)) } @else {
                div.scroll tabindex="0" { table.rows {
                    thead { tr { th scope="col" { "Schedule" } th scope="col" { "Topic" } th scope="col" { "Expression" } th scope="col" { "Next tick" } th.number scope="col" { "Processes" } } }
                    tbody { @for ((topic, schedule), (report, processes)) in all.iter().take(ROWS_MAX) { tr {
                        td { (wrapping(&name(schedule))) }
                        td data-label="Topic" { a href=(topic_path(topic)) { (wrapping(&name(topic))) } }
                        td data-label="Expression" { code { (name(&report.cron)) } }
                        td data-label="Next tick" { @match report.next_ms { Some(next) => { (text(next)) " " small { "(" (distance(next, now)) ")" } }, None => "not enqueued yet" } }
                        td.number data-label="Processes" { (number(*processes)) }
                    } } }
                } }
                (left_out(all.len()))
            }
        }
        p.hint { "Each tick is enqueued once, by whichever process comes first. A schedule that no process runs is not shown, and does not tick." }
    };
    page(&app, &visitor, "Schedules", &body)
}
