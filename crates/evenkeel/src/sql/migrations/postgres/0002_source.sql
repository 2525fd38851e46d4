-- One row: the name of this outbox, drawn at random by the first relay. Sinks tell the sequences of two outboxes apart by it.
CREATE TABLE IF NOT EXISTS evenkeel_outbox_source (
    one BIGINT NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL
);
