-- Names and keys are VARBINARY, because the binary collations of text ignore trailing spaces.
CREATE TABLE IF NOT EXISTS evenkeel_outbox (
    id BINARY(16) NOT NULL PRIMARY KEY,
    state BIGINT NOT NULL,
    effects LONGBLOB NULL,
    trace VARBINARY(255) NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NULL,
    claim BINARY(16) NULL,
    created_at BIGINT NOT NULL,
    settled_at BIGINT NULL,
    error VARBINARY(1000) NULL,
    KEY evenkeel_outbox_due (due_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS evenkeel_outbox_keys (
    topic VARBINARY(255) NOT NULL,
    message_key VARBINARY(255) NOT NULL,
    last_sequence BIGINT NOT NULL,
    sent_sequence BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NULL,
    claim BINARY(16) NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    parked_at BIGINT NULL,
    error VARBINARY(1000) NULL,
    PRIMARY KEY (topic, message_key),
    KEY evenkeel_outbox_keys_due (due_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS evenkeel_outbox_ordered (
    topic VARBINARY(255) NOT NULL,
    message_key VARBINARY(255) NOT NULL,
    sequence BIGINT NOT NULL,
    work BINARY(16) NOT NULL,
    state BIGINT NOT NULL,
    payload LONGBLOB NOT NULL,
    headers LONGBLOB NULL,
    created_at BIGINT NOT NULL,
    settled_at BIGINT NULL,
    PRIMARY KEY (topic, message_key, sequence)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS evenkeel_job_versions (
    topic VARBINARY(255) NOT NULL,
    job BINARY(16) NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (topic, job)
) ENGINE = InnoDB;
