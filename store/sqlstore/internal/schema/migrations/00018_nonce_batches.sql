-- +goose Up
-- Only on SQLite. The only process of the database has the used nonces in memory, so it writes many of them in one row. Before, each
-- nonce had a row and an entry in two indexes, each in another page.

CREATE TABLE nonce_batches (
  id      INTEGER PRIMARY KEY, -- until, or the next number after it that is free: less than a second later
  until   BIGINT NOT NULL,     -- when the last nonce of the row expires
  digests BLOB   NOT NULL      -- 16 bytes for each: package nonces
);
