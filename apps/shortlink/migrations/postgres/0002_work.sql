-- Bans; when a link's job has switched it off; and the writes that were accepted before the database heard of them
-- (--write-mode behind): how far each spool is settled, and what could not be done.
ALTER TABLE links ADD COLUMN banned BOOLEAN NOT NULL DEFAULT FALSE, ADD COLUMN ended_at BIGINT;

CREATE TABLE link_spools (
    source TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    state  BIGINT NOT NULL
);

CREATE TABLE link_conflicts (
    id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    told TEXT   NOT NULL
);
