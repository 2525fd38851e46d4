CREATE TABLE IF NOT EXISTS evenkeel_inbox (
    consumer_group VARBINARY(255) NOT NULL,
    message_id VARBINARY(255) NOT NULL,
    state BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    met BIGINT NOT NULL,
    PRIMARY KEY (consumer_group, message_id),
    KEY evenkeel_inbox_seen (state, seen_at)
) ENGINE = InnoDB;
