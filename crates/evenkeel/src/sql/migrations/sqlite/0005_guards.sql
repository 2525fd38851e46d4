-- One row per lock name: the highest fencing token that was stored, and its owner. `writes` makes every store a change.
CREATE TABLE IF NOT EXISTS evenkeel_guards (
    name TEXT NOT NULL PRIMARY KEY,
    fence INTEGER NOT NULL,
    owner BLOB NULL,
    writes INTEGER NOT NULL DEFAULT 0
) STRICT;
