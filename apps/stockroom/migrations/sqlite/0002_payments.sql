-- Payments of orders, what has happened to each order, and the charges of the test gateway, which stands in for another company's system.
-- An order without pay_by never times out: it was created before payments existed.
ALTER TABLE orders ADD COLUMN pay_by INTEGER;

CREATE INDEX orders_pay_by ON orders (state, pay_by);

-- The key is the client's: a request that is sent again has the same one.
CREATE TABLE payments (
    id              TEXT NOT NULL PRIMARY KEY,
    order_id        TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    card            TEXT NOT NULL,
    state           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    UNIQUE (order_id, idempotency_key)
);

CREATE TABLE order_events (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    detail      TEXT NOT NULL,
    happened_at INTEGER NOT NULL
);

CREATE INDEX order_events_order ON order_events (order_id, id);

-- approved: NULL while the gateway has not decided.
CREATE TABLE gateway_charges (
    payment_id TEXT NOT NULL PRIMARY KEY,
    requests   INTEGER NOT NULL,
    approved   INTEGER
);
