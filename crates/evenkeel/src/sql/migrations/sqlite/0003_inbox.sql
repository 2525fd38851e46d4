CREATE TABLE IF NOT EXISTS evenkeel_inbox (
    consumer_group TEXT NOT NULL,
    message_id BLOB NOT NULL,
    state INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    met INTEGER NOT NULL,
    PRIMARY KEY (consumer_group, message_id)
);

CREATE INDEX IF NOT EXISTS evenkeel_inbox_seen ON evenkeel_inbox (state, seen_at);
