-- Products, their stock (whole, or split over segments), what arrived by day, orders, and the ledger of every movement.
-- Times are milliseconds since 1970, days are text as 2026-11-21. Text compares byte for byte.
CREATE TABLE commodities (
    id   BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    UNIQUE INDEX commodities_name (name)
) ENGINE = InnoDB;

CREATE TABLE stocks (
    commodity_id BIGINT NOT NULL PRIMARY KEY,
    quantity     BIGINT NOT NULL,
    is_split     BIGINT NOT NULL,
    version      BIGINT NOT NULL
) ENGINE = InnoDB;

-- A segment that is closed has neither goods nor room. Its version goes on when it is opened again.
CREATE TABLE segments (
    commodity_id BIGINT NOT NULL,
    slot         BIGINT NOT NULL,
    quantity     BIGINT NOT NULL,
    room         BIGINT NOT NULL,
    version      BIGINT NOT NULL,
    PRIMARY KEY (commodity_id, slot)
) ENGINE = InnoDB;

CREATE TABLE arrivals (
    commodity_id BIGINT   NOT NULL,
    day          CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    quantity     BIGINT   NOT NULL,
    deliveries   BIGINT   NOT NULL,
    updated_at   BIGINT   NOT NULL,
    PRIMARY KEY (commodity_id, day),
    INDEX arrivals_day (day)
) ENGINE = InnoDB;

CREATE TABLE orders (
    id           CHAR(36)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    commodity_id BIGINT      NOT NULL,
    quantity     BIGINT      NOT NULL,
    state        VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at   BIGINT      NOT NULL,
    updated_at   BIGINT      NOT NULL,
    INDEX orders_commodity (commodity_id, state)
) ENGINE = InnoDB;

-- Nothing here is ever changed. Not unique by version: what a lock let through twice is to be seen.
CREATE TABLE movements (
    id           BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    commodity_id BIGINT      NOT NULL,
    slot         BIGINT      NOT NULL,
    version      BIGINT      NOT NULL,
    delta        BIGINT      NOT NULL,
    quantity     BIGINT      NOT NULL,
    kind         VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    reference    VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    moved_at     BIGINT      NOT NULL,
    INDEX movements_slot (commodity_id, slot, version)
) ENGINE = InnoDB;
