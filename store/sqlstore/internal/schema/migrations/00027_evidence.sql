-- +goose Up
-- Evidence of charges: the chain of each account, the signed and the decided texts, and the log of each service. docs/evidence.md describes
-- the parts that agents see.

ALTER TABLE accounts ADD COLUMN lines BIGINT NOT NULL DEFAULT 0;  -- entries in the chain, which is the number of the next one
ALTER TABLE accounts ADD COLUMN head BYTEA NOT NULL DEFAULT '';   -- leaf hash of the last entry; empty: there is none
ALTER TABLE accounts ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;   -- number of the first entry that was not deleted
ALTER TABLE accounts ADD COLUMN carried_by BIGINT NOT NULL DEFAULT -1; -- number of the newest entry of kind carry; -1: there is none
ALTER TABLE carried ADD COLUMN held BIGINT NOT NULL DEFAULT 0;    -- of calls whose first entries were deleted
CREATE INDEX accounts_unchained ON accounts (service, agent_id, currency) WHERE lines = 0;

ALTER TABLE ledger ADD COLUMN kind TEXT NOT NULL DEFAULT '';      -- carry; '': a charge or a top-up
ALTER TABLE ledger ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN k BIGINT NOT NULL DEFAULT -1;       -- number in the chain of the account; -1: from before there were chains
ALTER TABLE ledger ADD COLUMN prev BYTEA NOT NULL DEFAULT '';     -- leaf hash of entry k-1
ALTER TABLE ledger ADD COLUMN leaf BYTEA NOT NULL DEFAULT '';     -- leaf hash of the entry of this row
ALTER TABLE ledger ADD COLUMN salt BYTEA NOT NULL DEFAULT '';     -- of entries without an execution
ALTER TABLE ledger ADD COLUMN outcome TEXT NOT NULL DEFAULT '';   -- of a charge that is no longer held
ALTER TABLE ledger ADD COLUMN answer TEXT NOT NULL DEFAULT '';    -- digest of the output of a captured charge
ALTER TABLE ledger ADD COLUMN answer_form TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN details TEXT NOT NULL DEFAULT '';   -- of a carry: through and sums, as JSON
CREATE UNIQUE INDEX ledger_chain ON ledger (service, agent_id, currency, k) WHERE k >= 0;

ALTER TABLE executions ADD COLUMN key_id TEXT NOT NULL DEFAULT '';   -- thumbprint of the agent's key
ALTER TABLE executions ADD COLUMN proof TEXT NOT NULL DEFAULT '';    -- digest of the proof of key; '': none
ALTER TABLE executions ADD COLUMN decision TEXT NOT NULL DEFAULT ''; -- digest of the question that the policy decided

CREATE TABLE evidence ( -- what the digests in executions cover
  execution_id TEXT   NOT NULL PRIMARY KEY,
  service      TEXT   NOT NULL,
  proof        TEXT   NOT NULL, -- '': none, or not kept
  asked        BYTEA  NOT NULL  -- the member asked of the audit record
);

CREATE TABLE epochs ( -- the logs of a service; the issuer in entries of an epoch
  service  TEXT   NOT NULL,
  epoch    BIGINT NOT NULL,
  issuer   TEXT   NOT NULL,
  began_at BIGINT NOT NULL,
  first_seq BIGINT NOT NULL, -- the ledger number of the entry that begins the epoch; 0 for the first epoch, which has none
  PRIMARY KEY (service, epoch)
);

CREATE TABLE log_entries ( -- entries of the log that belong to no account
  seq     BIGINT NOT NULL PRIMARY KEY, -- from the same sequence as in ledger
  service TEXT   NOT NULL,
  epoch   BIGINT NOT NULL,
  purpose TEXT   NOT NULL, -- of the key that the entry introduces; '': it introduces none
  kid     TEXT   NOT NULL,
  receipt TEXT   NOT NULL, -- the entry, signed
  leaf    BYTEA  NOT NULL
);
CREATE INDEX log_entries_service ON log_entries (service, seq);
CREATE UNIQUE INDEX log_entries_key ON log_entries (service, purpose, kid) WHERE kid <> '';

CREATE TABLE log_tiles ( -- hashes of the Merkle tree, in the layout of C2SP tlog-tiles, with height 8
  service   TEXT   NOT NULL,
  epoch     BIGINT NOT NULL,
  level     BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  first_seq BIGINT NOT NULL, -- of level 0: the ledger number of the first leaf; otherwise 0
  hashes    BYTEA  NOT NULL, -- up to 256 hashes
  PRIMARY KEY (service, epoch, level, n)
);
CREATE INDEX log_tiles_seq ON log_tiles (service, epoch, first_seq) WHERE level = 0;

CREATE TABLE log_heads (
  service    TEXT   NOT NULL,
  epoch      BIGINT NOT NULL,
  size       BIGINT NOT NULL, -- leaves
  seq        BIGINT NOT NULL, -- the ledger number of the last leaf
  root       BYTEA  NOT NULL,
  checkpoint TEXT   NOT NULL, -- C2SP tlog-checkpoint of this size, signed, with cosignatures
  kid        TEXT   NOT NULL, -- of the key that signed it
  at         BIGINT NOT NULL, -- when it was signed
  cosigned_at BIGINT NOT NULL, -- when a witness last signed a checkpoint of the log; 0: never
  PRIMARY KEY (service, epoch)
);

CREATE TABLE log_lease ( -- which process appends to the logs; one row
  name       TEXT   NOT NULL PRIMARY KEY,
  holder     TEXT   NOT NULL,
  held_until BIGINT NOT NULL
);

-- Every ledger number up to this one is in a log, or belongs in none.
INSERT INTO sequences (name, n) SELECT 'logged', n FROM sequences WHERE name = 'ledger';
