//! The relay's and the sinks' guards.

use super::{Mutant, mutant};

/// Sinks first.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "stream_sink_sequence",
        "A copy that comes late is published again, and readers go back in time.",
        "sql::sink::stream::a_sequence_is_taken_once",
    ),
    mutant(
        "stream_sink_sequence",
        "In the model a copy that comes late is published again.",
        "sql::sink::stream_model::a_sequence_is_taken_once",
    ),
    mutant(
        "stream_sink_full",
        "A stream grows above the length at which it should refuse.",
        "sql::sink::stream::a_full_stream_takes_nothing_more",
    ),
    mutant(
        "stream_sink_full",
        "In the model a stream grows above the length at which it should refuse.",
        "sql::sink::stream_model::a_full_stream_takes_nothing_more",
    ),
];
