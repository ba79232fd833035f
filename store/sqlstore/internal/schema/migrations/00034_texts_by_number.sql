-- +goose Up
-- The texts of a charge are found by the number of the entry that began it, no longer by the id of its execution. This saves an index. On
-- SQLite, schema.ledgerNumbers makes the number of each entry of the ledger its rowid as well.

CREATE TABLE texts (
  seq     INTEGER PRIMARY KEY,   -- of the entry of the ledger with which the charge began
  service TEXT    NOT NULL,
  proof   TEXT    NOT NULL, -- the proof of key; '': none, or not kept
  asked   BYTEA   NOT NULL  -- the member asked of the audit record
);
INSERT INTO texts (seq, service, proof, asked) SELECT l.seq, v.service, v.proof, v.asked
  FROM ledger l JOIN evidence v ON v.execution_id = l.execution_id WHERE l.k >= 0 AND l.from_state = '' AND l.to_state = 'held' ORDER BY l.seq;
DROP TABLE evidence;
ALTER TABLE texts RENAME TO evidence;
