-- One row: the name of this outbox, drawn at random by the first relay. Sinks tell the sequences of two outboxes apart by it.
CREATE TABLE IF NOT EXISTS evenkeel_outbox_source (
    one INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL
);
