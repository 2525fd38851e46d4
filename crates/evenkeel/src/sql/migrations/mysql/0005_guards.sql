-- One row per lock name: the highest fencing token that was stored, and its owner. `writes` makes every store a change.
CREATE TABLE IF NOT EXISTS evenkeel_guards (
    name VARBINARY(512) NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    owner VARBINARY(16) NULL,
    writes BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB;
