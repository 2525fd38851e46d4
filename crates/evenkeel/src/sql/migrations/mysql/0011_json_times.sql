-- The default of `created_at` was converted from a date, which names two times in the hour that a time zone repeats in autumn.
ALTER TABLE evenkeel_outbox_json
    ALTER COLUMN created_at SET DEFAULT (UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000);
