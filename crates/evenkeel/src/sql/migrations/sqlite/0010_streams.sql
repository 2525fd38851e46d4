-- Streams that are registered here, the checkpoints of their groups, the entries of units of work that a group has not settled, and what
-- happened when Redis lost a stream.
CREATE TABLE IF NOT EXISTS evenkeel_streams (
    topic TEXT NOT NULL PRIMARY KEY,
    partitions INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    saved_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS evenkeel_stream_groups (
    topic TEXT NOT NULL,
    consumer_group TEXT NOT NULL,
    part INTEGER NOT NULL,
    lease_mode INTEGER NOT NULL,
    checkpoint_ms INTEGER NOT NULL,
    checkpoint_seq INTEGER NOT NULL,
    unsettled INTEGER NOT NULL,
    dead_letters INTEGER NOT NULL,
    PRIMARY KEY (topic, consumer_group, part)
);

CREATE TABLE IF NOT EXISTS evenkeel_stream_log (
    topic TEXT NOT NULL,
    message_key TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    work BLOB NOT NULL,
    payload BLOB NOT NULL,
    headers BLOB NULL,
    created_at INTEGER NOT NULL,
    part INTEGER NULL,
    tail_ms INTEGER NULL,
    tail_seq INTEGER NULL,
    PRIMARY KEY (topic, message_key, sequence)
);

CREATE INDEX IF NOT EXISTS evenkeel_stream_log_tail ON evenkeel_stream_log (topic, part, tail_ms);

CREATE TABLE IF NOT EXISTS evenkeel_stream_losses (
    topic TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    lost_at INTEGER NOT NULL,
    sent_again INTEGER NOT NULL,
    unsettled INTEGER NOT NULL,
    dead_letters INTEGER NOT NULL,
    PRIMARY KEY (topic, incarnation)
);
