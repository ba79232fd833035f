-- +goose Up
-- On SQLite alone. One process has the database and knows in memory which nonces are used; so it writes them down in rows of many,
-- where each had a row of its own, and an entry of two indexes, in another page.

CREATE TABLE nonce_batches (
  id      INTEGER PRIMARY KEY, -- until, or the next number after it that is free: less than a second later
  until   BIGINT NOT NULL,     -- when the last of them ends
  digests BLOB   NOT NULL      -- 16 bytes for each: package nonces
);
