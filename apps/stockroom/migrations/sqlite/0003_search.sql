-- The search for overdue orders and payments takes those first that it has not looked at for the longest time; 0: never.
ALTER TABLE orders ADD COLUMN searched_at INTEGER NOT NULL DEFAULT 0;

ALTER TABLE payments ADD COLUMN searched_at INTEGER NOT NULL DEFAULT 0;

CREATE INDEX payments_search ON payments (state, searched_at, updated_at);
