-- Clicks per link and day (days since 1970, UTC), by people and by bots.
CREATE TABLE link_clicks (
    code   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    day    BIGINT      NOT NULL,
    people BIGINT      NOT NULL,
    bots   BIGINT      NOT NULL,
    PRIMARY KEY (code, day)
) ENGINE = InnoDB;
