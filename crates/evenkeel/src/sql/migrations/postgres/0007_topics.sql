-- One row per paused topic whose jobs are rows here: until when (ms of the store's clock) none of them begins.
CREATE TABLE IF NOT EXISTS evenkeel_topics (
    topic TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    paused_until BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
