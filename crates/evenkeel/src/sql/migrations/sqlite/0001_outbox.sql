CREATE TABLE IF NOT EXISTS evenkeel_outbox (
    id BLOB NOT NULL PRIMARY KEY,
    state INTEGER NOT NULL,
    effects BLOB NULL,
    trace TEXT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NULL,
    claim BLOB NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER NULL,
    error TEXT NULL
);

CREATE INDEX IF NOT EXISTS evenkeel_outbox_due ON evenkeel_outbox (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS evenkeel_outbox_keys (
    topic TEXT NOT NULL,
    message_key TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    sent_sequence INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NULL,
    claim BLOB NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    parked_at INTEGER NULL,
    error TEXT NULL,
    PRIMARY KEY (topic, message_key)
);

CREATE INDEX IF NOT EXISTS evenkeel_outbox_keys_due ON evenkeel_outbox_keys (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS evenkeel_outbox_ordered (
    topic TEXT NOT NULL,
    message_key TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    work BLOB NOT NULL,
    state INTEGER NOT NULL,
    payload BLOB NOT NULL,
    headers BLOB NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER NULL,
    PRIMARY KEY (topic, message_key, sequence)
);

CREATE TABLE IF NOT EXISTS evenkeel_job_versions (
    topic TEXT NOT NULL,
    job BLOB NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (topic, job)
);
