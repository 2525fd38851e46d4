//! The locks that processes hold, on `/locks`.

use super::{ROWS_MAX, left_out, name, not_reported, notes, process_name, since};
use crate::console::collector::Reports;
use crate::console::pages::SEGMENT;
use crate::console::pages::wrapping::wrapping;
use crate::process::figures::{living, locks};
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;

/// The locks that were held when their holders reported.
pub(crate) fn table(reports: &Reports) -> Markup {
    let (found, all) = (&reports.found, locks(&reports.found));
    html! {
        (notes(reports))
        section.card { h2 { "Held when the processes reported" }
            @if living(found).next().is_none() { (not_reported(reports)) }
            @else if all.is_empty() { div.empty { h3 { "No process holds a lock" } p { "Locks that are held for less than ten seconds are seldom reported." } } }
            @else {
                div.scroll tabindex="0" { table.rows {
                    thead { tr { th scope="col" { "Lock" } th scope="col" { "Process" } th.number scope="col" { "Held for" } th.number scope="col" { "Fencing token" } } }
                    tbody { @for (process, lock) in all.iter().take(ROWS_MAX) { tr {
                        td { a href=(format!("/locks?q={}", utf8_percent_encode(&lock.lock, SEGMENT))) { (wrapping(&name(&lock.lock))) } }
                        td data-label="Process" { (wrapping(&process_name(process))) }
                        td.number data-label="Held for" { (since(lock.since_ms, found.now_ms)) }
                        td.number data-label="Fencing token" { (lock.fence) }
                    } } }
                } }
                (left_out(all.len()))
            }
        }
    }
}
