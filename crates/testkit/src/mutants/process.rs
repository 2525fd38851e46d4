//! The guards of the process reports.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "process_times_foreign",
        "Another program's value under the key of the list makes every list fail, and each report write half of what it should.",
        "process::foreign::value_in_place_of_the_list_stops_reports_only",
    ),
    mutant(
        "process_report_foreign",
        "Another program's value under the key of one report hides all processes.",
        "process::foreign::value_in_place_of_a_report_is_ignored",
    ),
    mutant(
        "process_report_ignored",
        "A text that is no report is shown as a process without a name.",
        "process::on_redis::text_that_is_no_report_is_ignored",
    ),
];
