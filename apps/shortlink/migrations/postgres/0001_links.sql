-- Links, the sequence behind their codes, settings of the database, and where interrupted imports stand.
-- Times are milliseconds since 1970. Text that is looked up compares byte for byte (collation "C").
CREATE TABLE links (
    id          BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    code        TEXT    COLLATE "C" NOT NULL,
    target      TEXT    COLLATE "C" NOT NULL,
    target_hash BYTEA   NOT NULL,
    alias       BOOLEAN NOT NULL,
    created_at  BIGINT  NOT NULL,
    updated_at  BIGINT  NOT NULL,
    expires_at  BIGINT,
    version     BIGINT  NOT NULL
);
CREATE UNIQUE INDEX links_code ON links (code);
CREATE INDEX links_target_hash ON links (target_hash);

CREATE TABLE link_settings (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE link_sequences (
    name       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    next_value BIGINT NOT NULL
);
-- The row 'imports' counts nothing: an import locks it while it looks and writes.
INSERT INTO link_sequences (name, next_value) VALUES ('codes', 0), ('imports', 0);

CREATE TABLE link_imports (
    source TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    state  TEXT NOT NULL
);
