-- The state that the release of commit 888c3cd left in SQLite: TestFixture of its storetest, dumped by sqlite3.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,0,1,'2026-11-24 18:29:36');
INSERT INTO goose_db_version VALUES(2,1,1,'2026-11-24 18:29:36');
INSERT INTO goose_db_version VALUES(3,2,1,'2026-11-24 18:29:36');
INSERT INTO goose_db_version VALUES(4,3,1,'2026-11-24 18:29:36');
INSERT INTO goose_db_version VALUES(5,4,1,'2026-11-24 18:29:36');
CREATE TABLE sequences (
  name TEXT   NOT NULL PRIMARY KEY, -- 'changes': what replicas must learn, in commit order; 'ready': written by health checks
  n    BIGINT NOT NULL
);
INSERT INTO sequences VALUES('changes',3);
INSERT INTO sequences VALUES('ready',0);
INSERT INTO sequences VALUES('restored',0);
INSERT INTO sequences VALUES('ledger',4);
CREATE TABLE agents (
  service    TEXT   NOT NULL,
  id         TEXT   NOT NULL,           -- agent_id
  status     TEXT   NOT NULL,           -- active, blocked
  approved   BIGINT NOT NULL DEFAULT 0, -- 1: by the operator or by configuration
  reason     TEXT   NOT NULL DEFAULT '',-- why it is blocked
  created_at BIGINT NOT NULL,
  seq        BIGINT NOT NULL DEFAULT 0, -- of the last change replicas must learn; 0: none
  PRIMARY KEY (service, id)
);
INSERT INTO agents VALUES('shop','agent-1','active',0,'',1773500966535897932,0);
INSERT INTO agents VALUES('shop','other','blocked',0,'it misbehaves',1773500966535897932,2);
CREATE TABLE agent_keys (
  service  TEXT   NOT NULL,
  key_id   TEXT   NOT NULL, -- RFC 7638 thumbprint; belongs to one agent of the service
  agent_id TEXT   NOT NULL,
  added_at BIGINT NOT NULL,
  position BIGINT NOT NULL, -- 0: the key that claimed the id
  PRIMARY KEY (service, key_id),
  FOREIGN KEY (service, agent_id) REFERENCES agents (service, id)
);
INSERT INTO agent_keys VALUES('shop','key-1','agent-1',1773500966535897932,0);
INSERT INTO agent_keys VALUES('shop','key-o','other',1773500966535897932,0);
CREATE TABLE policies (
  service       TEXT   NOT NULL,
  digest        TEXT   NOT NULL, -- sha-256:…
  uid           TEXT   NOT NULL,
  body          BYTEA  NOT NULL, -- exactly as served
  first_offered BIGINT NOT NULL, offered_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (service, digest)
);
INSERT INTO policies VALUES('shop','sha-256:823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812','https://shop.example/policy',X'7b22756964223a317d',1773500966535897932,0);
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
  has_signed    BIGINT NOT NULL, -- 0: what was signed is the stored policy document
  signed        BYTEA  NOT NULL, -- the exact bytes that verified
  signature     BYTEA  NOT NULL,
  nonce         TEXT   NOT NULL, -- jti of a fresh agreement
  scope         TEXT   NOT NULL, -- JSON list of strings
  state         TEXT   NOT NULL, -- pending, active, revoked
  awaiting      BIGINT NOT NULL, -- 1: made pending, and no token was issued for it yet
  used_at       BIGINT NOT NULL DEFAULT 0, -- the first call made under it; 0: none, it is evidence of nothing
  created_at    BIGINT NOT NULL,
  PRIMARY KEY (service, id),
  FOREIGN KEY (service, agent_id) REFERENCES agents (service, id),
  FOREIGN KEY (service, policy_digest) REFERENCES policies (service, digest)
);
INSERT INTO agreements VALUES('shop','01900000-0000-7000-8000-000000000001','shop.example','agent-1','key-1',X'010203','https://shop.example/policy','sha-256:823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812','fresh','jws-agreement',1,X'7369676e6564206279746573',X'612e622e63','nonce-of-the-agreement','["a:b:execute","é\"\u003c"]','active',0,1773500966535897932,1773500966535897932);
INSERT INTO agreements VALUES('shop','01900000-0000-7000-8000-000000000004','shop.example','other','key-o',X'010203','https://shop.example/policy','sha-256:823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812','fresh','jws-agreement',1,X'7369676e6564206279746573',X'612e622e63','n','["a:b:execute","é\"\u003c"]','active',0,0,1773500966535897932);
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
  ends_at        BIGINT NOT NULL DEFAULT 0, -- earlier than expires_at where it was renewed
  renewed_to     TEXT   NOT NULL DEFAULT '',
  renewed_at     BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (service, id),
  FOREIGN KEY (service, agreement_id) REFERENCES agreements (service, id)
);
INSERT INTO tokens VALUES('shop','01900000-0000-7000-8000-000000000002','01900000-0000-7000-8000-000000000001','agent-1','key-1','sha-256:823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812','["a:b:execute","é\"\u003c"]',10,3600,'fresh','kid',1773500966535897932,1773504566535897932,0,'',0);
INSERT INTO tokens VALUES('shop','01900000-0000-7000-8000-000000000003','01900000-0000-7000-8000-000000000001','agent-1','key-1','sha-256:823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812','["a:b:execute","é\"\u003c"]',10,3600,'fresh','kid',1773500966535897932,1773504566535897932,0,'',0);
CREATE TABLE revocations (
  service TEXT   NOT NULL,
  kind    TEXT   NOT NULL, -- token, agreement, agent, policy
  subject TEXT   NOT NULL, -- jti, agreement id, agent id or digest
  at      BIGINT NOT NULL, -- ends what was issued up to then
  until   BIGINT NOT NULL, -- then it may be forgotten
  reason  TEXT   NOT NULL,
  seq     BIGINT NOT NULL,
  PRIMARY KEY (service, kind, subject)
);
INSERT INTO revocations VALUES('shop','token','01900000-0000-7000-8000-000000000003',1773500966535897932,1777100966535897932,'stolen',1);
CREATE TABLE signing_keys (
  id         TEXT   NOT NULL PRIMARY KEY, -- kid
  algorithm  TEXT   NOT NULL,
  jwk        BYTEA  NOT NULL, -- public
  created_at BIGINT NOT NULL,
  not_after  BIGINT NOT NULL, -- 0: it still signs
  seq        BIGINT NOT NULL
);
INSERT INTO signing_keys VALUES('kid','EdDSA',X'7b7d',1773500966535897932,0,3);
CREATE TABLE nonces (
  service TEXT   NOT NULL,
  key_id  TEXT   NOT NULL,
  id      TEXT   NOT NULL,
  until   BIGINT NOT NULL,
  PRIMARY KEY (service, key_id, id)
);
INSERT INTO nonces VALUES('shop','key-1','nonce-of-the-agreement',1773504566535897932);
INSERT INTO nonces VALUES('shop','key-o','n',1773504566535897932);
CREATE TABLE counters (
  service  TEXT   NOT NULL,
  agent_id TEXT   NOT NULL, -- '': shared by all agents of the service
  limit_id TEXT   NOT NULL,
  period   TEXT   NOT NULL,
  slot     BIGINT NOT NULL, -- the highest seen when the row was written; it never goes back
  counts   BYTEA  NOT NULL, -- unsigned varints: units of slot, slot-1, …, no trailing zeros
  frees_at BIGINT NOT NULL, -- when no slot counts any more; 0: never
  PRIMARY KEY (service, agent_id, limit_id, period)
);
INSERT INTO counters VALUES('shop','agent-1','0123456789abcdef','day',1231597,X'02',1773588960000000000);
INSERT INTO counters VALUES('shop','agent-1','fedcba9876543210','lifetime',0,X'02',0);
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
  deadline      BIGINT NOT NULL, -- then the sweeper makes a held one unresolved
  settled_at    BIGINT NOT NULL DEFAULT 0,
  forget_at     BIGINT NOT NULL  -- when a settled one may go; 0: never (it charged)
);
INSERT INTO executions VALUES('01900000-0000-7000-8000-000000000005','shop','agent-1','order-1','f','example.com:buy:v1','01900000-0000-7000-8000-000000000001','01900000-0000-7000-8000-000000000002','','rule',250000000,'USD','captured','done',1773500966535897932,1773501026535897932,1773500966535897932,0);
INSERT INTO executions VALUES('01900000-0000-7000-8000-000000000006','shop','agent-1','','f','example.com:buy:v1','','','','rule',125000000,'USD','held','',1773500966535897932,1773501026535897932,0,0);
CREATE TABLE idempotency (
  service      TEXT   NOT NULL,
  agent_id     TEXT   NOT NULL,
  idem_key     TEXT   NOT NULL,
  execution_id TEXT   NOT NULL,
  until        BIGINT NOT NULL, -- then the key may be used anew, if the execution is settled
  PRIMARY KEY (service, agent_id, idem_key)
);
INSERT INTO idempotency VALUES('shop','agent-1','order-1','01900000-0000-7000-8000-000000000005',1773587366535897932);
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
INSERT INTO accounts VALUES('shop','agent-1','USD',1000000000,125000000,250000000,0);
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
, reference TEXT NOT NULL DEFAULT '');
INSERT INTO ledger VALUES(1,1773500966535897932,'shop','agent-1','01900000-0000-7000-8000-000000000005','example.com:buy:v1','rule',250000000,'USD','','held','agent','');
INSERT INTO ledger VALUES(2,1773500966535897932,'shop','agent-1','01900000-0000-7000-8000-000000000005','example.com:buy:v1','rule',250000000,'USD','held','captured','agent','');
INSERT INTO ledger VALUES(3,1773500966535897932,'shop','agent-1','01900000-0000-7000-8000-000000000006','example.com:buy:v1','rule',125000000,'USD','','held','agent','');
INSERT INTO ledger VALUES(4,1773500966535897932,'shop','agent-1','','','',1000000000,'USD','','','operator','bill-7');
CREATE TABLE carried ( -- the sums over the entries that were removed from the ledger
  service   TEXT   NOT NULL,
  agent_id  TEXT   NOT NULL,
  currency  TEXT   NOT NULL,
  topped_up BIGINT NOT NULL,
  captured  BIGINT NOT NULL, -- what ended otherwise left nothing
  until     BIGINT NOT NULL, -- the last moment of what was removed
  PRIMARY KEY (service, agent_id, currency)
);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',5);
CREATE INDEX agents_seq ON agents (seq) WHERE seq > 0;
CREATE INDEX agent_keys_agent ON agent_keys (service, agent_id, position);
CREATE UNIQUE INDEX agreements_nonce ON agreements (service, key_id, nonce) WHERE nonce <> '';
CREATE INDEX agreements_agent ON agreements (service, agent_id, policy_digest);
CREATE INDEX agreements_policy ON agreements (service, policy_digest);
CREATE INDEX agreements_unused ON agreements (created_at) WHERE used_at = 0;
CREATE INDEX tokens_agreement ON tokens (service, agreement_id, expires_at);
CREATE INDEX tokens_expiry ON tokens (expires_at);
CREATE INDEX revocations_seq ON revocations (seq);
CREATE INDEX revocations_until ON revocations (until);
CREATE INDEX signing_keys_seq ON signing_keys (seq);
CREATE INDEX nonces_until ON nonces (until);
CREATE INDEX counters_frees ON counters (frees_at) WHERE frees_at > 0;
CREATE INDEX executions_service ON executions (service, id);
CREATE INDEX executions_agent ON executions (service, agent_id, id);
CREATE INDEX executions_due ON executions (deadline) WHERE state = 'held';
CREATE INDEX executions_held ON executions (id) WHERE state = 'held';
CREATE INDEX executions_unresolved ON executions (id) WHERE state = 'unresolved';
CREATE INDEX executions_forget ON executions (forget_at) WHERE forget_at > 0;
CREATE INDEX idempotency_until ON idempotency (until);
CREATE INDEX accounts_agent ON accounts (agent_id, currency);
CREATE INDEX ledger_service ON ledger (service, seq);
CREATE INDEX ledger_agent ON ledger (service, agent_id, seq);
CREATE INDEX policies_offered ON policies (service, (CASE WHEN offered_at > first_offered THEN offered_at ELSE first_offered END));
CREATE INDEX agents_blocked ON agents (service, id) WHERE status = 'blocked';
CREATE INDEX agents_approved ON agents (service, approved, id);
CREATE INDEX agreements_listed ON agreements (service, agent_id, id);
CREATE INDEX agreements_pending ON agreements (service, id) WHERE state = 'pending';
CREATE INDEX tokens_issued ON tokens (service, issued_at, id);
CREATE INDEX tokens_listed ON tokens (service, agent_id, issued_at, id);
CREATE UNIQUE INDEX ledger_reference ON ledger (service, reference) WHERE reference <> '';
CREATE INDEX ledger_time ON ledger (service, agent_id, at);
CREATE INDEX ledger_execution ON ledger (execution_id);
CREATE INDEX ledger_top_ups ON ledger (at) WHERE to_state = '';
CREATE INDEX executions_ended ON executions (settled_at) WHERE amount > 0 AND settled_at > 0;
CREATE INDEX executions_open ON executions (service, agent_id, currency) WHERE state = 'unresolved';
CREATE INDEX carried_until ON carried (service, until);
COMMIT;
