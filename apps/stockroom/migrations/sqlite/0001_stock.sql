-- Products, their stock (whole, or split over segments), what arrived by day, orders, and the ledger of every movement.
-- Times are milliseconds since 1970, days are text as 2026-11-21. Text compares byte for byte (SQLite's default, BINARY).
CREATE TABLE commodities (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT    NOT NULL UNIQUE
);

CREATE TABLE stocks (
    commodity_id INTEGER NOT NULL PRIMARY KEY REFERENCES commodities (id),
    quantity     INTEGER NOT NULL,
    is_split     INTEGER NOT NULL,
    version      INTEGER NOT NULL
);

-- A segment that is closed has neither goods nor room. Its version goes on when it is opened again.
CREATE TABLE segments (
    commodity_id INTEGER NOT NULL REFERENCES commodities (id),
    slot         INTEGER NOT NULL,
    quantity     INTEGER NOT NULL,
    room         INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    PRIMARY KEY (commodity_id, slot)
) WITHOUT ROWID;

CREATE TABLE arrivals (
    commodity_id INTEGER NOT NULL REFERENCES commodities (id),
    day          TEXT    NOT NULL,
    quantity     INTEGER NOT NULL,
    deliveries   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (commodity_id, day)
) WITHOUT ROWID;
CREATE INDEX arrivals_day ON arrivals (day);

CREATE TABLE orders (
    id           TEXT    NOT NULL PRIMARY KEY,
    commodity_id INTEGER NOT NULL REFERENCES commodities (id),
    quantity     INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX orders_commodity ON orders (commodity_id, state);

-- Nothing here is ever changed. Not unique by version: what a lock let through twice is to be seen.
CREATE TABLE movements (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    commodity_id INTEGER NOT NULL REFERENCES commodities (id),
    slot         INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    delta        INTEGER NOT NULL,
    quantity     INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    reference    TEXT    NOT NULL,
    moved_at     INTEGER NOT NULL
);
CREATE INDEX movements_slot ON movements (commodity_id, slot, version);
