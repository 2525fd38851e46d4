-- One row per lock name: the highest fence that was stored, and whose it is. `writes` makes every store a change.
CREATE TABLE IF NOT EXISTS evenkeel_guards (
    name VARBINARY(512) NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    owner VARBINARY(16) NULL,
    writes BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB;
