//! The alert rules. This table is the only one: the rules file for Prometheus and the page for operators are generated from it, and
//! `evenkeel alerts` evaluates those that have a figure.

use serde::Serialize;

/// When a value violates its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Above the limit.
    Above,
    /// Below the limit.
    Below,
}

/// How urgent an alert is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// It requires action now.
    Page,
    /// It requires action today.
    Ticket,
}

/// What `evenkeel alerts` measures in Redis and in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// Seconds since the last reading of a server.
    DataAge,
    /// 1 while Redis answers, otherwise 0.
    RedisUnreachable,
    /// 1 while the database answers, otherwise 0.
    DatabaseUnreachable,
    /// Seconds for which the oldest due job of a topic has waited.
    QueueLate,
    /// Due jobs of a topic.
    QueueBacklog,
    /// Due jobs of a topic that is not paused and has no consumer.
    QueueIdle,
    /// Dead letters of a topic.
    DeadLetters,
    /// Seconds for which the oldest unread entry of a group that is not paused has waited.
    StreamLate,
    /// Age of the oldest pending entry of a group, in seconds.
    StreamPending,
    /// Dead letters of a group.
    StreamDeadLetters,
    /// 1 if Redis has lost a group in a partition, otherwise 0.
    StreamGroupMissing,
    /// Age of the oldest pending unit of work, in seconds.
    OutboxLag,
    /// Parked units of work and keys.
    OutboxParked,
}

/// One rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The name, as Prometheus shows it.
    pub(super) name: &'static str,
    /// The series, in PromQL.
    pub(super) series: &'static str,
    /// Which side of the limit violates the rule.
    pub(super) comparison: Comparison,
    /// The limit.
    pub(super) limit: f64,
    /// How long the rule must be violated before the alert fires, in seconds.
    pub(super) hold_s: u64,
    /// How urgent it is.
    pub(super) severity: Severity,
    /// What `evenkeel alerts` measures for it; `None`: only the processes themselves know the figure, so it needs Prometheus.
    pub(super) figure: Option<Figure>,
    /// What a violation means.
    pub(super) meaning: &'static str,
    /// The page of the console that helps. In this text and the next one, `TOPIC`, `STREAM` and `GROUP` stand for names.
    pub(super) page: &'static str,
    /// What to do.
    pub(super) action: &'static str,
}

impl Rule {
    /// Whether `value` violates the rule.
    pub(super) fn is_violated(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::Above => value > self.limit,
            Comparison::Below => value < self.limit,
        }
    }

    /// The whole condition, in PromQL.
    pub(super) fn expression(&self) -> String {
        let sign = match self.comparison {
            Comparison::Above => '>',
            Comparison::Below => '<',
        };
        format!("{} {sign} {}", self.series, self.limit)
    }
}

/// What most rules have in common: any value above 0 fires at once, and requires action now.
const PAGE: Rule = Rule {
    name: "",
    series: "",
    comparison: Comparison::Above,
    limit: 0.0,
    hold_s: 0,
    severity: Severity::Page,
    figure: None,
    meaning: "",
    page: "",
    action: "",
};

/// As [`PAGE`], and requires action today.
const TICKET: Rule = Rule { severity: Severity::Ticket, ..PAGE };

/// Every rule.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "NoData",
        series: "time() - evenkeel_console_reading_last_success_seconds",
        limit: 60.0,
        figure: Some(Figure::DataAge),
        meaning: "The figures of a server could not be read for this many seconds, so no other rule about it can fire.",
        page: "/",
        action: "Run `evenkeel doctor` with its address; the error says what it answers.",
        ..PAGE
    },
    Rule {
        name: "RedisDown",
        series: "evenkeel_link_up",
        comparison: Comparison::Below,
        limit: 1.0,
        hold_s: 30,
        figure: Some(Figure::RedisUnreachable),
        meaning: "Reads come from the database, and invalidations wait.",
        page: "/link",
        action: "The log of the service has the reason; run `evenkeel doctor` with the address of Redis; watch the load of the database.",
        ..PAGE
    },
    Rule {
        name: "DatabaseDown",
        series: "evenkeel_console_database_up",
        comparison: Comparison::Below,
        limit: 1.0,
        hold_s: 30,
        figure: Some(Figure::DatabaseUnreachable),
        meaning: "The outbox and the rows of durable queues cannot be read.",
        page: "/",
        action: "Run `evenkeel doctor` with the address of the database.",
        ..PAGE
    },
    Rule {
        name: "LinkFlaps",
        series: "increase(evenkeel_link_epochs_ended_total[10m])",
        limit: 3.0,
        meaning: "Connections to Redis are replaced often; the label `reason` says why.",
        page: "/link",
        action: "Find out what Redis does at these times: `SLOWLOG GET`, `INFO persistence`.",
        ..TICKET
    },
    Rule {
        name: "HitRatioLow",
        series: "sum by (cache) (rate(evenkeel_cache_hits_total[5m])) / (sum by (cache) (rate(evenkeel_cache_hits_total[5m])) + sum by (cache) (rate(evenkeel_cache_misses_total[5m])) + sum by (cache) (rate(evenkeel_cache_bypasses_total[5m])))",
        comparison: Comparison::Below,
        limit: 0.85,
        hold_s: 600,
        meaning: "Too many reads of a cache go to the database.",
        page: "/caches",
        action: "Compare with the last deployment; check `evenkeel_cache_bypasses_total` by reason, the TTL, and evictions in Redis (`INFO stats`).",
        ..TICKET
    },
    Rule {
        name: "DatabaseSlow",
        series: "histogram_quantile(0.95, sum by (cache, le) (rate(evenkeel_cache_load_seconds_bucket[5m])))",
        limit: 0.25,
        hold_s: 300,
        meaning: "The 95th percentile of loads from the database, in seconds.",
        page: "/caches",
        action: "Look for slow queries and locks in the database; loads that take longer than `load_budget` are not stored.",
        ..TICKET
    },
    Rule {
        name: "ReadersShed",
        series: "rate(evenkeel_cache_shed_total[5m])",
        hold_s: 60,
        meaning: "Readers receive errors because there are more of them than permitted loads.",
        page: "/caches",
        action: r#"Check the hit ratio and the latency of the database; with `reason="waiters"`, loads hang."#,
        ..PAGE
    },
    Rule {
        name: "Inconsistent",
        series: "max by (cache) (evenkeel_cache_invalidations_pending)",
        hold_s: 60,
        meaning: "Writes are committed in SQL, and Redis may still serve the old values.",
        page: "/caches",
        action: "Restore Redis; do not restart these services, which keep their pending invalidations in memory.",
        ..PAGE
    },
    Rule {
        name: "InvalidationsFailed",
        series: r#"increase(evenkeel_cache_invalidations_total{outcome=~"failed|unknown"}[5m])"#,
        meaning: "Callers received the error that an invalidation failed, or that its outcome is unknown; the library replays it.",
        page: "/caches",
        action: "See Inconsistent; if callers retry by themselves, nothing else is needed.",
        ..TICKET
    },
    Rule {
        name: "WritesConflict",
        series: r#"increase(shortlink_writes_settled_total{outcome="conflict"}[1h])"#,
        meaning: "Accepted writes (write-behind) could not be applied: another instance changed the link first.",
        page: "/",
        action: "`/api/conflicts` of shortlink lists each with its reason; repeat the change or dismiss the conflict.",
        ..TICKET
    },
    Rule {
        name: "QueueLate",
        series: "evenkeel_console_queue_late_seconds",
        limit: 30.0,
        hold_s: 60,
        figure: Some(Figure::QueueLate),
        meaning: "The oldest due job of a topic waits for this many seconds.",
        page: "/queues/TOPIC",
        action: "`evenkeel queue stats TOPIC`: if all slots are busy, start more consumers; if none is, see QueueIdle.",
        ..PAGE
    },
    Rule {
        name: "QueueBacklog",
        series: "evenkeel_console_queue_due",
        limit: 10000.0,
        hold_s: 300,
        figure: Some(Figure::QueueBacklog),
        meaning: "More due jobs wait in a topic than its consumers handle soon.",
        page: "/queues/TOPIC",
        action: "Start more consumers, or find what makes handlers slow: `evenkeel_queue_handler_seconds`.",
        ..TICKET
    },
    Rule {
        name: "QueueIdle",
        series: "evenkeel_console_queue_idle",
        hold_s: 60,
        figure: Some(Figure::QueueIdle),
        meaning: "Jobs are due, the topic is not paused, and no consumer runs.",
        page: "/queues/TOPIC",
        action: "Start the service that consumes the topic; its log says why it ended.",
        ..PAGE
    },
    Rule {
        name: "DeadLetters",
        series: "evenkeel_console_queue_dead",
        figure: Some(Figure::DeadLetters),
        meaning: "Jobs used up their attempts and wait for a decision.",
        page: "/queues/TOPIC/dead",
        action: "`evenkeel queue dead ls TOPIC` shows their errors; mend the handler, then `evenkeel queue dead redrive TOPIC`.",
        ..TICKET
    },
    Rule {
        name: "LeasesLost",
        series: "increase(evenkeel_queue_leases_lost_total[10m])",
        meaning: "Handlers were canceled because their worker stalled for longer than `visibility`.",
        page: "/queues/TOPIC",
        action: "Look for a blocking call in the handler, or a lack of CPU time.",
        ..TICKET
    },
    Rule {
        name: "StreamLate",
        series: "evenkeel_console_stream_late_seconds",
        limit: 60.0,
        hold_s: 60,
        figure: Some(Figure::StreamLate),
        meaning: "The oldest entry that a group has not read waits for this many seconds, and the group is not paused.",
        page: "/streams/STREAM",
        action: "`evenkeel stream show STREAM`: if partitions have no owner, start consumers; if one is blocked, see its pending entries; else add consumers.",
        ..PAGE
    },
    Rule {
        name: "StreamPending",
        series: "evenkeel_console_stream_oldest_pending_seconds",
        limit: 600.0,
        figure: Some(Figure::StreamPending),
        meaning: "An entry was read this many seconds ago and is not settled: its handler hangs, or it is retried. It holds the log back from trimming.",
        page: "/streams/STREAM",
        action: "Look for the key in the log of the consumers; `evenkeel_stream_handled_total` with `outcome=\"retried\"` says whether it is retried.",
        ..TICKET
    },
    Rule {
        name: "StreamDeadLetters",
        series: "evenkeel_console_stream_dead",
        figure: Some(Figure::StreamDeadLetters),
        meaning: "A group has given up entries, which wait for a decision.",
        page: "/streams/STREAM/groups/GROUP/dead",
        action: "`evenkeel stream dead ls STREAM GROUP` shows their reasons; mend the handler, then `evenkeel stream dead replay STREAM GROUP --all --confirm GROUP`.",
        ..TICKET
    },
    Rule {
        name: "StreamGroupMissing",
        series: "evenkeel_console_stream_missing",
        hold_s: 60,
        figure: Some(Figure::StreamGroupMissing),
        meaning: "Redis has lost a group of a stream in a partition. Nothing is trimmed there, and entries may be lost.",
        page: "/streams/STREAM",
        action: "Start a consumer of the group, which creates it again; look for a flush or a failover without persistence. If it is no longer used: `evenkeel stream unregister STREAM GROUP --confirm GROUP`.",
        ..PAGE
    },
    Rule {
        name: "OutboxLag",
        series: "evenkeel_console_outbox_lag_seconds",
        limit: 30.0,
        hold_s: 60,
        figure: Some(Figure::OutboxLag),
        meaning: "The oldest committed unit of work whose effects are not carried out, in seconds.",
        page: "/outbox",
        action: "Check that a relay runs and reaches Redis; `evenkeel outbox ls` shows the errors, `evenkeel outbox retry` ends the backoff.",
        ..PAGE
    },
    Rule {
        name: "OutboxParked",
        series: "evenkeel_console_outbox_parked",
        figure: Some(Figure::OutboxParked),
        meaning: "Effects used up their attempts; a relay no longer tries them.",
        page: "/outbox",
        action: "`evenkeel outbox park ls` shows the errors; then `evenkeel outbox release ID` with `--resend` or `--skip`.",
        ..PAGE
    },
    Rule {
        name: "RelayStuck",
        series: "time() - max(evenkeel_outbox_relay_last_success_seconds)",
        limit: 60.0,
        meaning: "No relay has polled the outbox for this many seconds.",
        page: "/outbox",
        action: "The log of the service that runs the relay has the error of the database.",
        ..PAGE
    },
    Rule {
        name: "LocksLost",
        series: "increase(evenkeel_lock_lost_total[10m])",
        meaning: "Holders lost their locks: a process was paused or disconnected, or an operator broke the lock.",
        page: "/locks",
        action: "Fencing tokens prevent writes of the former holder; find out what paused the process.",
        ..TICKET
    },
    Rule {
        name: "JobsRestored",
        series: r#"increase(evenkeel_queue_swept_total{what="put_back"}[10m])"#,
        meaning: "Redis had lost jobs; they were restored from their rows.",
        page: "/queues/TOPIC",
        action: "Look for a flush, an eviction policy or a failover without persistence.",
        ..TICKET
    },
];
