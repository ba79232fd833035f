-- One schema for every dialect, with the types TEXT, BIGINT and BYTEA (SQLite stores BYTEA unchanged). Columns are
-- never NULL: '' and 0 mean "none". Times (…_at, until, deadline) are nanoseconds since 1970 UTC, and amounts are
-- billionths of a unit. The comment in schema.go describes the tables.

CREATE TABLE sequences (
  name TEXT   NOT NULL PRIMARY KEY, -- 'changes': changes that replicas must read, in commit order; 'ready': written by health checks
  n    BIGINT NOT NULL
);
INSERT INTO sequences (name, n) VALUES ('changes', 0), ('ready', 0);

CREATE TABLE agents (
  service    TEXT   NOT NULL,
  id         TEXT   NOT NULL,           -- agent_id
  status     TEXT   NOT NULL,           -- active, blocked
  approved   BIGINT NOT NULL DEFAULT 0, -- 1: by the operator or by configuration
  reason     TEXT   NOT NULL DEFAULT '',-- why it is blocked
  created_at BIGINT NOT NULL,
  seq        BIGINT NOT NULL DEFAULT 0, -- of the last change that replicas must read; 0: none
  PRIMARY KEY (service, id)
);
CREATE INDEX agents_seq ON agents (seq) WHERE seq > 0;

CREATE TABLE agent_keys (
  service  TEXT   NOT NULL,
  key_id   TEXT   NOT NULL, -- RFC 7638 thumbprint; belongs to one agent of the service
  agent_id TEXT   NOT NULL,
  added_at BIGINT NOT NULL,
  position BIGINT NOT NULL, -- 0: the key that claimed the id
  PRIMARY KEY (service, key_id),
  FOREIGN KEY (service, agent_id) REFERENCES agents (service, id)
);
CREATE INDEX agent_keys_agent ON agent_keys (service, agent_id, position);

CREATE TABLE policies (
  service       TEXT   NOT NULL,
  digest        TEXT   NOT NULL, -- sha-256:…
  uid           TEXT   NOT NULL,
  body          BYTEA  NOT NULL, -- exactly as served
  first_offered BIGINT NOT NULL,
  PRIMARY KEY (service, digest)
);

CREATE TABLE agreements (
  service       TEXT   NOT NULL,
  id            TEXT   NOT NULL,
  issuer        TEXT   NOT NULL,
  agent_id      TEXT   NOT NULL,
  key_id        TEXT   NOT NULL,
  public_key    BYTEA  NOT NULL, -- DER SubjectPublicKeyInfo
  policy_uid    TEXT   NOT NULL,
  policy_digest TEXT   NOT NULL,
  assurance     TEXT   NOT NULL, -- fresh, static
  form          TEXT   NOT NULL, -- of the signature
  has_signed    BIGINT NOT NULL, -- 0: the agent signed the stored policy document
  signed        BYTEA  NOT NULL, -- the exact bytes that verified
  signature     BYTEA  NOT NULL,
  nonce         TEXT   NOT NULL, -- jti of a fresh agreement
  scope         TEXT   NOT NULL, -- JSON list of strings
  state         TEXT   NOT NULL, -- pending, active, revoked
  awaiting      BIGINT NOT NULL, -- 1: it was made pending, and has no token yet
  used_at       BIGINT NOT NULL DEFAULT 0, -- time of the first call under it; 0: no call depends on it
  created_at    BIGINT NOT NULL,
  PRIMARY KEY (service, id),
  FOREIGN KEY (service, agent_id) REFERENCES agents (service, id),
  FOREIGN KEY (service, policy_digest) REFERENCES policies (service, digest)
);
CREATE UNIQUE INDEX agreements_nonce ON agreements (service, key_id, nonce) WHERE nonce <> '';
CREATE INDEX agreements_agent ON agreements (service, agent_id, policy_digest);
CREATE INDEX agreements_policy ON agreements (service, policy_digest);
CREATE INDEX agreements_unused ON agreements (created_at) WHERE used_at = 0;

CREATE TABLE tokens (
  service        TEXT   NOT NULL,
  id             TEXT   NOT NULL, -- jti; the token itself is never stored
  agreement_id   TEXT   NOT NULL,
  agent_id       TEXT   NOT NULL,
  key_id         TEXT   NOT NULL,
  policy_digest  TEXT   NOT NULL,
  scope          TEXT   NOT NULL, -- JSON list of strings
  limit_rate     BIGINT NOT NULL,
  limit_period   BIGINT NOT NULL, -- seconds
  assurance      TEXT   NOT NULL,
  signing_key_id TEXT   NOT NULL,
  issued_at      BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL,
  ends_at        BIGINT NOT NULL DEFAULT 0, -- earlier than expires_at if it was renewed
  renewed_to     TEXT   NOT NULL DEFAULT '',
  renewed_at     BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (service, id),
  FOREIGN KEY (service, agreement_id) REFERENCES agreements (service, id)
);
CREATE INDEX tokens_agreement ON tokens (service, agreement_id, expires_at);
CREATE INDEX tokens_expiry ON tokens (expires_at);

CREATE TABLE revocations (
  service TEXT   NOT NULL,
  kind    TEXT   NOT NULL, -- token, agreement, agent, policy
  subject TEXT   NOT NULL, -- jti, agreement id, agent id or digest
  at      BIGINT NOT NULL, -- ends everything that was issued up to this time
  until   BIGINT NOT NULL, -- after this time it may be deleted
  reason  TEXT   NOT NULL,
  seq     BIGINT NOT NULL,
  PRIMARY KEY (service, kind, subject)
);
CREATE INDEX revocations_seq ON revocations (seq);
CREATE INDEX revocations_until ON revocations (until);

CREATE TABLE signing_keys (
  id         TEXT   NOT NULL PRIMARY KEY, -- kid
  algorithm  TEXT   NOT NULL,
  jwk        BYTEA  NOT NULL, -- public
  created_at BIGINT NOT NULL,
  not_after  BIGINT NOT NULL, -- 0: it still signs
  seq        BIGINT NOT NULL
);
CREATE INDEX signing_keys_seq ON signing_keys (seq);

CREATE TABLE nonces (
  service TEXT   NOT NULL,
  key_id  TEXT   NOT NULL,
  id      TEXT   NOT NULL,
  until   BIGINT NOT NULL,
  PRIMARY KEY (service, key_id, id)
);
CREATE INDEX nonces_until ON nonces (until);

CREATE TABLE counters (
  service  TEXT   NOT NULL,
  agent_id TEXT   NOT NULL, -- '': shared by all agents of the service
  limit_id TEXT   NOT NULL,
  period   TEXT   NOT NULL,
  slot     BIGINT NOT NULL, -- the highest seen when the row was written; it never goes back
  counts   BYTEA  NOT NULL, -- unsigned varints: units of slot, slot-1, …, no trailing zeros
  frees_at BIGINT NOT NULL, -- when no slot counts any longer; 0: never
  PRIMARY KEY (service, agent_id, limit_id, period)
);
CREATE INDEX counters_frees ON counters (frees_at) WHERE frees_at > 0;

CREATE TABLE executions (
  id            TEXT   NOT NULL PRIMARY KEY, -- UUIDv7: grows with time
  service       TEXT   NOT NULL,
  agent_id      TEXT   NOT NULL,
  idem_key      TEXT   NOT NULL,
  fingerprint   TEXT   NOT NULL,
  intent        TEXT   NOT NULL,
  agreement_id  TEXT   NOT NULL,
  token_id      TEXT   NOT NULL,
  policy_digest TEXT   NOT NULL,
  rule          TEXT   NOT NULL,
  amount        BIGINT NOT NULL, -- billionths of a unit; 0: free
  currency      TEXT   NOT NULL,
  state         TEXT   NOT NULL, -- held, captured, released, unresolved
  outcome       TEXT   NOT NULL, -- '' while held
  begun_at      BIGINT NOT NULL,
  deadline      BIGINT NOT NULL, -- after this time the sweeper makes a held one unresolved
  settled_at    BIGINT NOT NULL DEFAULT 0,
  forget_at     BIGINT NOT NULL  -- when a settled one may be deleted; 0: never (it charged)
);
CREATE INDEX executions_service ON executions (service, id);
CREATE INDEX executions_agent ON executions (service, agent_id, id);
CREATE INDEX executions_due ON executions (deadline) WHERE state = 'held';
CREATE INDEX executions_held ON executions (id) WHERE state = 'held';
CREATE INDEX executions_unresolved ON executions (id) WHERE state = 'unresolved';
CREATE INDEX executions_forget ON executions (forget_at) WHERE forget_at > 0;

CREATE TABLE idempotency (
  service      TEXT   NOT NULL,
  agent_id     TEXT   NOT NULL,
  idem_key     TEXT   NOT NULL,
  execution_id TEXT   NOT NULL,
  until        BIGINT NOT NULL, -- after this time the key may be used again, if the execution is settled
  PRIMARY KEY (service, agent_id, idem_key)
);
CREATE INDEX idempotency_until ON idempotency (until);

CREATE TABLE answers (
  execution_id TEXT   NOT NULL PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE,
  status       BIGINT NOT NULL,
  content_type TEXT   NOT NULL,
  reason       TEXT   NOT NULL,
  body         BYTEA  NOT NULL
);

CREATE TABLE accounts (
  service   TEXT   NOT NULL,
  agent_id  TEXT   NOT NULL,
  currency  TEXT   NOT NULL,
  topped_up BIGINT NOT NULL DEFAULT 0,
  held      BIGINT NOT NULL DEFAULT 0, -- held and unresolved
  captured  BIGINT NOT NULL DEFAULT 0,
  pooled    BIGINT NOT NULL DEFAULT 0, -- 1: what it owes counts towards the pool
  PRIMARY KEY (service, agent_id, currency)
);
CREATE INDEX accounts_agent ON accounts (agent_id, currency);

CREATE TABLE pools (
  service  TEXT   NOT NULL,
  currency TEXT   NOT NULL,
  owed     BIGINT NOT NULL, -- sum over the pooled accounts of max(0, held + captured - topped_up)
  PRIMARY KEY (service, currency)
);

CREATE TABLE ledger (
  seq          BIGINT NOT NULL PRIMARY KEY,
  at           BIGINT NOT NULL,
  service      TEXT   NOT NULL,
  agent_id     TEXT   NOT NULL,
  execution_id TEXT   NOT NULL,
  intent       TEXT   NOT NULL,
  rule         TEXT   NOT NULL,
  amount       BIGINT NOT NULL,
  currency     TEXT   NOT NULL,
  from_state   TEXT   NOT NULL, -- '': the charge was first held, or a top-up
  to_state     TEXT   NOT NULL, -- '': a top-up
  actor        TEXT   NOT NULL  -- agent, sweeper, operator
);
CREATE INDEX ledger_service ON ledger (service, seq);
CREATE INDEX ledger_agent ON ledger (service, agent_id, seq);
