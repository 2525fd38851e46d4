-- Streams that are registered here, the checkpoints of their groups, the entries of units of work that a group has not settled, and what
-- happened when Redis lost a stream.
CREATE TABLE IF NOT EXISTS evenkeel_streams (
    topic TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    partitions BIGINT NOT NULL,
    incarnation BIGINT NOT NULL,
    saved_at BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS evenkeel_stream_groups (
    topic TEXT COLLATE "C" NOT NULL,
    consumer_group TEXT COLLATE "C" NOT NULL,
    part BIGINT NOT NULL,
    lease_mode BIGINT NOT NULL,
    checkpoint_ms BIGINT NOT NULL,
    checkpoint_seq BIGINT NOT NULL,
    unsettled BIGINT NOT NULL,
    dead_letters BIGINT NOT NULL,
    PRIMARY KEY (topic, consumer_group, part)
);

CREATE TABLE IF NOT EXISTS evenkeel_stream_log (
    topic TEXT COLLATE "C" NOT NULL,
    message_key TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    work BYTEA NOT NULL,
    payload BYTEA NOT NULL,
    headers BYTEA NULL,
    created_at BIGINT NOT NULL,
    part BIGINT NULL,
    tail_ms BIGINT NULL,
    tail_seq BIGINT NULL,
    PRIMARY KEY (topic, message_key, sequence)
);

CREATE INDEX IF NOT EXISTS evenkeel_stream_log_tail ON evenkeel_stream_log (topic, part, tail_ms);

CREATE TABLE IF NOT EXISTS evenkeel_stream_losses (
    topic TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL,
    lost_at BIGINT NOT NULL,
    sent_again BIGINT NOT NULL,
    unsettled BIGINT NOT NULL,
    dead_letters BIGINT NOT NULL,
    PRIMARY KEY (topic, incarnation)
);
