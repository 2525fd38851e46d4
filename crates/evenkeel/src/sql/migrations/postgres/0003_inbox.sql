CREATE TABLE IF NOT EXISTS evenkeel_inbox (
    consumer_group TEXT COLLATE "C" NOT NULL,
    message_id BYTEA NOT NULL,
    state BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    met BIGINT NOT NULL,
    PRIMARY KEY (consumer_group, message_id)
);

CREATE INDEX IF NOT EXISTS evenkeel_inbox_seen ON evenkeel_inbox (state, seen_at);
