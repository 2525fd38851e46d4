CREATE TABLE IF NOT EXISTS evenkeel_outbox (
    id BYTEA NOT NULL PRIMARY KEY,
    state BIGINT NOT NULL,
    effects BYTEA NULL,
    trace TEXT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NULL,
    claim BYTEA NULL,
    created_at BIGINT NOT NULL,
    settled_at BIGINT NULL,
    error TEXT NULL
);

CREATE INDEX IF NOT EXISTS evenkeel_outbox_due ON evenkeel_outbox (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS evenkeel_outbox_keys (
    topic TEXT COLLATE "C" NOT NULL,
    message_key TEXT COLLATE "C" NOT NULL,
    last_sequence BIGINT NOT NULL,
    sent_sequence BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NULL,
    claim BYTEA NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    parked_at BIGINT NULL,
    error TEXT NULL,
    PRIMARY KEY (topic, message_key)
);

CREATE INDEX IF NOT EXISTS evenkeel_outbox_keys_due ON evenkeel_outbox_keys (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS evenkeel_outbox_ordered (
    topic TEXT COLLATE "C" NOT NULL,
    message_key TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    work BYTEA NOT NULL,
    state BIGINT NOT NULL,
    payload BYTEA NOT NULL,
    headers BYTEA NULL,
    created_at BIGINT NOT NULL,
    settled_at BIGINT NULL,
    PRIMARY KEY (topic, message_key, sequence)
);

CREATE TABLE IF NOT EXISTS evenkeel_job_versions (
    topic TEXT COLLATE "C" NOT NULL,
    job BYTEA NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (topic, job)
);
