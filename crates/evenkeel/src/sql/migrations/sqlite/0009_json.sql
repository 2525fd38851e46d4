-- Effects that programs in other languages insert with their own rows, as JSON; a relay moves them into `evenkeel_outbox`. The default of
-- `created_at` is one that the older SQLite of another language has, too.
CREATE TABLE IF NOT EXISTS evenkeel_outbox_json (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    effects TEXT NOT NULL CHECK (typeof(effects) = 'text' AND json_valid(effects)),
    created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
        CHECK (typeof(created_at) = 'integer' AND created_at >= 0),
    due_at INTEGER NOT NULL DEFAULT 0 CHECK (typeof(due_at) = 'integer'),
    error TEXT NULL
);
