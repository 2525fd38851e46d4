//! The caches of all processes, on `/caches`.

use super::{ROWS_MAX, left_out, name, not_reported, notes};
use crate::console::collector::Reports;
use crate::console::pages::number;
use crate::console::pages::wrapping::wrapping;
use crate::process::figures::caches;
use maud::{Markup, html};

/// The caches with their counters, over all processes.
pub(crate) fn table(reports: &Reports) -> Markup {
    let all = caches(&reports.found);
    let figures = |sum: &crate::process::figures::CacheSum| {
        let ratio = sum.hit_ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.1} %"));
        let counters =
            [sum.hits, sum.stale_hits, sum.near_hits, sum.misses, sum.loads, sum.loads_failed, sum.shed, sum.processes];
        [ratio].into_iter().chain(counters.map(number)).zip(HEADINGS)
    };
    html! {
        (notes(reports))
        section.card { h2 { "Caches" }
            @if all.is_empty() { (not_reported(reports)) } @else {
                div.scroll tabindex="0" { table.rows.many {
                    thead { tr { th scope="col" { "Cache" } @for heading in HEADINGS { th.number scope="col" { (heading) } } } }
                    tbody { @for (cache, sum) in all.iter().take(ROWS_MAX) { tr {
                        td { (wrapping(&name(cache))) }
                        @for (figure, heading) in figures(sum) { td.number data-label=(heading) { (figure) } }
                    } } }
                } }
                (left_out(all.len()))
                p.hint { "Counted since each process opened the cache, over the processes that reported within the last minute. The ratio is that of reads served by the store or the near cache." }
            }
        }
    }
}

const HEADINGS: [&str; 9] =
    ["Hit ratio", "Hits", "Stale hits", "Near hits", "Misses", "Loads", "Failed loads", "Shed", "Processes"];
