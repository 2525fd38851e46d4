-- Streams that are registered here, the checkpoints of their groups, the entries of units of work that a group has not settled, and what
-- happened when Redis lost a stream.
CREATE TABLE IF NOT EXISTS evenkeel_streams (
    topic VARBINARY(255) NOT NULL PRIMARY KEY,
    partitions BIGINT NOT NULL,
    incarnation BIGINT NOT NULL,
    saved_at BIGINT NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS evenkeel_stream_groups (
    topic VARBINARY(255) NOT NULL,
    consumer_group VARBINARY(255) NOT NULL,
    part BIGINT NOT NULL,
    lease_mode BIGINT NOT NULL,
    checkpoint_ms BIGINT NOT NULL,
    checkpoint_seq BIGINT NOT NULL,
    unsettled BIGINT NOT NULL,
    dead_letters BIGINT NOT NULL,
    PRIMARY KEY (topic, consumer_group, part)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS evenkeel_stream_log (
    topic VARBINARY(255) NOT NULL,
    message_key VARBINARY(255) NOT NULL,
    sequence BIGINT NOT NULL,
    work BINARY(16) NOT NULL,
    payload LONGBLOB NOT NULL,
    headers LONGBLOB NULL,
    created_at BIGINT NOT NULL,
    part BIGINT NULL,
    tail_ms BIGINT NULL,
    tail_seq BIGINT NULL,
    PRIMARY KEY (topic, message_key, sequence),
    KEY evenkeel_stream_log_tail (topic, part, tail_ms)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS evenkeel_stream_losses (
    topic VARBINARY(255) NOT NULL,
    incarnation BIGINT NOT NULL,
    lost_at BIGINT NOT NULL,
    sent_again BIGINT NOT NULL,
    unsettled BIGINT NOT NULL,
    dead_letters BIGINT NOT NULL,
    PRIMARY KEY (topic, incarnation)
) ENGINE = InnoDB;
