-- Links, the sequence behind their codes, settings of the database, and where interrupted imports stand.
-- Times are milliseconds since 1970. Codes compare byte for byte: with the server's default collation aB3 and ab3 would be
-- one link.
CREATE TABLE links (
    id          BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    code        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    target      TEXT        CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    target_hash BINARY(16)  NOT NULL,
    alias       BOOLEAN     NOT NULL,
    created_at  BIGINT      NOT NULL,
    updated_at  BIGINT      NOT NULL,
    expires_at  BIGINT,
    version     BIGINT      NOT NULL,
    UNIQUE INDEX links_code (code),
    INDEX links_target_hash (target_hash)
) ENGINE = InnoDB;

CREATE TABLE link_settings (
    name  VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    value VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = InnoDB;

CREATE TABLE link_sequences (
    name       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    next_value BIGINT      NOT NULL
) ENGINE = InnoDB;
-- The row 'imports' counts nothing: an import locks it while it looks and writes.
INSERT INTO link_sequences (name, next_value) VALUES ('codes', 0), ('imports', 0);

CREATE TABLE link_imports (
    source VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    state  TEXT        CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE = InnoDB;
