-- Clicks per link and day (days since 1970, UTC), by people and by bots.
CREATE TABLE link_clicks (
    code   TEXT   COLLATE "C" NOT NULL,
    day    BIGINT NOT NULL,
    people BIGINT NOT NULL,
    bots   BIGINT NOT NULL,
    PRIMARY KEY (code, day)
);
