-- Bans; when a link's job has switched it off; and the writes that were accepted before the database heard of them
-- (--write-mode behind): how far each spool is settled, and what could not be done.
ALTER TABLE links ADD COLUMN banned BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE links ADD COLUMN ended_at INTEGER;

CREATE TABLE link_spools (
    source TEXT    NOT NULL PRIMARY KEY,
    state  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE link_conflicts (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    told TEXT    NOT NULL
);
