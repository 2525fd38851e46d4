-- Links, the sequence behind their codes, settings of the database, and where interrupted imports stand.
-- Times are milliseconds since 1970. Text compares byte for byte (SQLite's default, BINARY).
CREATE TABLE links (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    code        TEXT    NOT NULL,
    target      TEXT    NOT NULL,
    target_hash BLOB    NOT NULL,
    alias       BOOLEAN NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    version     INTEGER NOT NULL
);
CREATE UNIQUE INDEX links_code ON links (code);
CREATE INDEX links_target_hash ON links (target_hash);

CREATE TABLE link_settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE link_sequences (
    name       TEXT    NOT NULL PRIMARY KEY,
    next_value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO link_sequences (name, next_value) VALUES ('codes', 0);

CREATE TABLE link_imports (
    source     TEXT    NOT NULL PRIMARY KEY,
    state      TEXT    NOT NULL
) WITHOUT ROWID;
