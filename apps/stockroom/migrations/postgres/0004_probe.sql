-- `/readyz` changes the only row, to learn whether the database accepts writes.
CREATE TABLE tried_writes (
    id INTEGER NOT NULL PRIMARY KEY,
    tried_at BIGINT NOT NULL
);

INSERT INTO tried_writes (id, tried_at) VALUES (1, 0);
