-- One row per sequence: the first number that no process has taken.
CREATE TABLE IF NOT EXISTS evenkeel_sequences (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    next_value BIGINT NOT NULL
);
