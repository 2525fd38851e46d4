//! What the simulations print: one line, or a table, from a row of counts.

use serde_json::Value;

/// The counts of the eventual reads of one seed, or of all.
pub(super) fn eventual_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}: {} eventual reads, {} stale after an acknowledged invalidation, {} failed; {} invalidations \
         acknowledged, {} of unknown outcome; {} entries deleted and {} overwritten, {} connections made again",
        number("eventual_histories"),
        number("eventual_seed"),
        number("reads"),
        number("stale"),
        number("failed_reads"),
        number("writes"),
        number("unknown_writes"),
        number("deleted"),
        number("overwritten"),
        number("cut_connections"),
    )
}

/// The counts of all schedules of loaders that read replicas.
pub(super) fn schedules_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} schedules up to seed {}, with replicas, versions, deletions and mixed settings: {} values found, 0 stale after an acknowledged \
         invalidation",
        number("schedules"),
        number("schedule_seed"),
        number("served"),
    )
}

/// The counts of all histories of processes with mixed settings.
pub(super) fn mixed_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}, of processes with mixed settings: {} reads, {} failed, {} of an absent row, {} marked as stale; {} loads \
         of replicas, {} of them behind the primary; {} invalidations, {} reads older than they may be",
        number("mixed_histories"),
        number("mixed_seed"),
        number("reads"),
        number("failed_reads"),
        number("absent"),
        number("marked_stale"),
        number("from_replicas"),
        number("behind"),
        number("invalidations"),
        number("violations"),
    )
}

/// The counts of one history of locks, or of all.
pub(super) fn lock_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}: {} holds, {} violations; {} busy, {} failed, {} lost, {} broken, {} leaked, {} acquisitions \
         dropped; {} processes died",
        number("lock_histories"),
        number("lock_seed"),
        number("holds"),
        number("violations"),
        number("busy"),
        number("failed"),
        number("lost"),
        number("broken"),
        number("leaked"),
        number("dropped_acquires"),
        number("died"),
    )
}

/// The counts of one history of units of work, or of all.
pub(super) fn units_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}: {} units of work with {} effects (the largest {}), {} left to a relay, {} outages; {} of {} reads of \
         the committing process stale, {} entries stale elsewhere, {} jobs wrong, {} units unfinished",
        number("units_histories"),
        number("units_seed"),
        number("units"),
        number("effects"),
        number("largest"),
        number("left"),
        number("outages"),
        number("stale_at_home"),
        number("reads"),
        number("stale_elsewhere"),
        number("jobs_wrong"),
        number("unfinished"),
    )
}

/// The counts of one history of dead-letter sequences, or of all.
pub(super) fn sequence_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}: {} entries, {} handled, {} dead letters, {} times of refused settlements; {} violations",
        number("sequence_histories"),
        number("sequence_seed"),
        number("entries"),
        number("handled"),
        number("dead"),
        number("refusals"),
        number("violations"),
    )
}

/// The counts of the queue's simulation.
pub(super) fn queue_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} jobs, {} workers killed in {:.0} s: {} effects, {} jobs lost; {} repeated effects, {} of them without an expired lease in the \
         job's record, {} after a worker that was still alive; {} expired leases",
        number("jobs"),
        number("kills"),
        row["seconds"].as_f64().unwrap_or(0.0),
        number("effects"),
        number("lost"),
        number("twice"),
        number("twice_without_lease_expiry"),
        number("twice_after_the_living"),
        number("lease_expiries"),
    )
}

/// The counts of the simulation of streams.
pub(super) fn stream_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} entries of {} keys, {} processes killed and {} stopped in {:.0} s, {} leases of partitions: {} effects, {} dead letters; {} \
         entries lost, {} done and dead, {} dead twice, {} effects out of the order of their key; {} repeated runs, {} of them of entries \
         that were appended again, {} under the same lease; {} transactions of a former owner refused; {} entries trimmed{}",
        number("entries"),
        number("keys"),
        number("kills"),
        number("stops"),
        row["seconds"].as_f64().unwrap_or(0.0),
        number("leases"),
        number("effects"),
        number("dead_letters"),
        number("lost"),
        number("done_and_dead"),
        number("dead_twice"),
        number("out_of_order"),
        number("twice"),
        number("appended_again"),
        number("twice_under_one_fence"),
        number("refused"),
        number("trimmed"),
        match number("flushed") {
            0 if number("sent_again") == 0 => String::new(),
            held => format!(
                "; a flush of Redis could lose {held} entries and lost {}; {} were sent again",
                number("lost_in_flush"),
                number("sent_again"),
            ),
        },
    )
}

/// The progress of the outbox's simulation; at the end, the comparison with SQL.
pub(super) fn outbox_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    let seconds = row["seconds"].as_f64().unwrap_or(0.0);
    if row.get("progress").is_some() {
        return format!(
            "{:>7} of {} transactions in {seconds:.0} s; {} processes killed, Redis {} and the broker {} times",
            number("progress"),
            number("transactions"),
            number("kills"),
            number("redis_restarts"),
            number("broker_restarts"),
        );
    }
    let copies = |name: &str| row["copies"][name].as_u64().unwrap_or(0);
    let lines = [
        format!(
            "{} transactions committed in {seconds:.0} s, {} rolled back, {} refused (a window was not confirmed), {} in conflict, {} of \
             unknown outcome; {} processes killed, Redis {} and the broker {} times",
            number("committed"),
            number("rolled_back"),
            number("refused"),
            number("failed"),
            number("unknown"),
            number("kills"),
            number("redis_restarts"),
            number("broker_restarts"),
        ),
        String::new(),
        "| expected from SQL | compared | violations |".to_owned(),
        "|---|--:|--:|".to_owned(),
        format!(
            "| completed units of work | {} | {} |",
            number("committed"),
            number("works_not_done") + number("parked")
        ),
        format!(
            "| fresh cache entries ({} of {} accounts had one) | {} | {} |",
            number("entries_held"),
            number("accounts"),
            number("entries_held"),
            number("stale")
        ),
        format!("| waiting jobs | {} | {} |", number("jobs"), number("jobs_wrong")),
        format!("| absent jobs ({} revoked) | {} | {} |", number("revoked"), number("revoked"), number("jobs_strange")),
        format!(
            "| ordered messages, by key | {} | {} of {} keys |",
            number("ordered"),
            number("ordering_keys_wrong"),
            number("ordering_keys")
        ),
        format!("| unordered messages | {} | {} |", number("loose"), number("loose_lost") + number("loose_strange")),
        String::new(),
        format!(
            "duplicate unordered messages: {}; {} after the death of their first sender, {} around an outage, {} because the sender was \
             slow, {} unexplained. Duplicate ordered messages: {}",
            copies("all"),
            copies("after_a_kill"),
            copies("after_an_outage"),
            copies("late"),
            copies("unexplained"),
            number("ordered_copies"),
        ),
    ];
    lines.join("\n")
}

/// The counts of the cache's simulation: of one seed, or of all.
pub(super) fn cache_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    if row.get("histories").is_some() {
        return format!(
            "{} histories: {} linearizable, {} violations, {} excluded (a commit after its update window had expired), {} of those with \
             {} stale reads, at most {:.0} ms stale; {} strong reads ({} from the store), {} failed; {} writes acknowledged, {} \
             refused, {} of unknown outcome; {} writers killed and {} paused inside a window",
            number("histories"),
            number("linearizable"),
            number("violations"),
            number("apart"),
            number("apart_with_stale_reads"),
            number("stale_reads"),
            row["staleness_ms_max"].as_f64().unwrap_or(0.0),
            number("fresh_reads"),
            number("from_store"),
            number("failed_reads"),
            number("writes"),
            number("refused_writes"),
            number("unknown_writes"),
            number("killed"),
            number("paused"),
        );
    }
    let verdict = match &row["verdict"] {
        Value::String(verdict) => verdict.clone(),
        Value::Object(verdict) => verdict.keys().cloned().collect(),
        other => other.to_string(),
    };
    format!(
        "seed {}: {verdict}; {} reads from the store and {} from the loader, {} writes",
        number("seed"),
        number("from_store"),
        number("from_loader"),
        number("acknowledged"),
    )
}

/// The counts of a soak of ids.
pub(super) fn ids_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} ids in {} ranges, seed {}: {} issued twice; {} generators, {} of them ended, {} clock steps, {} times all leases ended",
        number("ids"),
        number("ranges"),
        number("ids_seed"),
        number("doubled"),
        number("generators"),
        number("ended"),
        number("clock_steps"),
        number("lapses"),
    )
}

/// What one suite of misuse tried, as the line of a table.
pub(super) fn robustness_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        text("kind"),
        text("capability"),
        number("rounds"),
        number("calls"),
        number("accepted"),
        number("refused"),
        number("misbehaviors"),
        number("checks"),
        number("violations"),
    )
}
