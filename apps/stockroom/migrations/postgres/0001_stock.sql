-- Products, their stock (whole, or split over segments), what arrived by day, orders, and the ledger of every movement.
-- Times are milliseconds since 1970, days are text as 2026-11-21. Text compares byte for byte (collation "C").
CREATE TABLE commodities (
    id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT   COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE stocks (
    commodity_id BIGINT NOT NULL PRIMARY KEY REFERENCES commodities (id),
    quantity     BIGINT NOT NULL,
    is_split     BIGINT NOT NULL,
    version      BIGINT NOT NULL
);

-- A segment that is closed has neither goods nor room. Its version goes on when it is opened again.
CREATE TABLE segments (
    commodity_id BIGINT NOT NULL REFERENCES commodities (id),
    slot         BIGINT NOT NULL,
    quantity     BIGINT NOT NULL,
    room         BIGINT NOT NULL,
    version      BIGINT NOT NULL,
    PRIMARY KEY (commodity_id, slot)
);

CREATE TABLE arrivals (
    commodity_id BIGINT NOT NULL REFERENCES commodities (id),
    day          TEXT   COLLATE "C" NOT NULL,
    quantity     BIGINT NOT NULL,
    deliveries   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (commodity_id, day)
);
CREATE INDEX arrivals_day ON arrivals (day);

CREATE TABLE orders (
    id           TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    commodity_id BIGINT NOT NULL REFERENCES commodities (id),
    quantity     BIGINT NOT NULL,
    state        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX orders_commodity ON orders (commodity_id, state);

-- Nothing here is ever changed. Not unique by version: what a lock let through twice is to be seen.
CREATE TABLE movements (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    commodity_id BIGINT NOT NULL REFERENCES commodities (id),
    slot         BIGINT NOT NULL,
    version      BIGINT NOT NULL,
    delta        BIGINT NOT NULL,
    quantity     BIGINT NOT NULL,
    kind         TEXT   NOT NULL,
    reference    TEXT   NOT NULL,
    moved_at     BIGINT NOT NULL
);
CREATE INDEX movements_slot ON movements (commodity_id, slot, version);
