//! The guards of change capture.

use super::{Mutant, mutant};

/// In the order in which a change passes them.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "cdc_identity",
        "The log of another server is read from the position of the first one, and its changes before it are skipped.",
        "gaps::another_source_under_the_name_is_a_gap",
    ),
    mutant(
        "cdc_image_before",
        "The entry under the old key of a row is served on.",
        "effects::changed_key_invalidates_both_entries",
    ),
    mutant(
        "cdc_absent_is_not_null",
        "A change whose key the log left out is skipped as one without a key.",
        "cdc::rules::key::tests::absent_column_is_not_null",
    ),
    mutant(
        "cdc_barrier",
        "An absent entry is invalidated before the row is visible, and the next reader stores the old row for good.",
        "effects::change_is_applied_when_it_is_visible",
    ),
    mutant(
        "cdc_parked_waits",
        "A later change of a key overtakes the one whose function failed.",
        "effects::failing_function_parks_its_key_alone",
    ),
];
