-- One row per paused topic of a SQL queue: the time (ms of the store's clock) before which none of its jobs starts.
CREATE TABLE IF NOT EXISTS evenkeel_topics (
    topic TEXT NOT NULL PRIMARY KEY,
    paused_until INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
);
