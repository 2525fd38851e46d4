-- Bans; when a link's job has switched it off; and the writes that were accepted before the database heard of them
-- (--write-mode behind): how far each spool is settled, and what could not be done.
ALTER TABLE links ADD COLUMN banned BOOLEAN NOT NULL DEFAULT FALSE, ADD COLUMN ended_at BIGINT;

CREATE TABLE link_spools (
    source VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    state  BIGINT      NOT NULL
) ENGINE = InnoDB;

CREATE TABLE link_conflicts (
    id   BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    told TEXT   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE = InnoDB;
