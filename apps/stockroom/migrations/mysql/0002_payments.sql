-- Payments of orders, what has happened to each order, and the charges of the test gateway, which stands in for another company's system.
-- An order without pay_by never times out: it was created before payments existed.
ALTER TABLE orders ADD COLUMN pay_by BIGINT;

CREATE INDEX orders_pay_by ON orders (state, pay_by);

-- The key is the client's: a request that is sent again has the same one.
CREATE TABLE payments (
    id              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    order_id        CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    idempotency_key VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    card            VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state           VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    UNIQUE (order_id, idempotency_key)
) ENGINE = InnoDB;

CREATE TABLE order_events (
    id          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_id    CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind        VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    detail      VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    happened_at BIGINT NOT NULL
) ENGINE = InnoDB;

CREATE INDEX order_events_order ON order_events (order_id, id);

-- approved: NULL while the gateway has not decided.
CREATE TABLE gateway_charges (
    payment_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    requests   BIGINT NOT NULL,
    approved   BIGINT
) ENGINE = InnoDB;
