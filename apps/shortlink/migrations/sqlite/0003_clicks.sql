-- Clicks per link and day (days since 1970, UTC), by people and by bots.
CREATE TABLE link_clicks (
    code   TEXT    NOT NULL,
    day    INTEGER NOT NULL,
    people INTEGER NOT NULL,
    bots   INTEGER NOT NULL,
    PRIMARY KEY (code, day)
) WITHOUT ROWID;
