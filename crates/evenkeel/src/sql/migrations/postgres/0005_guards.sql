-- One row per lock name: the highest fencing token that was stored, and its owner. `writes` makes every store a change.
CREATE TABLE IF NOT EXISTS evenkeel_guards (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    owner BYTEA NULL,
    writes BIGINT NOT NULL DEFAULT 0
);
