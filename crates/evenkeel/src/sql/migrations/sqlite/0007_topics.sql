-- One row per paused topic whose jobs are rows here: until when (ms of the store's clock) none of them begins.
CREATE TABLE IF NOT EXISTS evenkeel_topics (
    topic TEXT NOT NULL PRIMARY KEY,
    paused_until INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
);
