-- Generated from migrations by go test ./store/sqlstore/internal/schema -update. Do not edit.

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

CREATE TABLE sequences (
  name TEXT   NOT NULL PRIMARY KEY, -- 'changes': changes that replicas must read, in commit order; 'ready': written by health checks
  n    BIGINT NOT NULL
);

CREATE TABLE agents (
  service    TEXT   NOT NULL,
  id         TEXT   NOT NULL,           -- agent_id
  status     TEXT   NOT NULL,           -- active, blocked
  approved   BIGINT NOT NULL DEFAULT 0, -- 1: by the operator or by configuration
  reason     TEXT   NOT NULL DEFAULT '',-- why it is blocked
  created_at BIGINT NOT NULL,
  seq        BIGINT NOT NULL DEFAULT 0, name TEXT NOT NULL DEFAULT '', buyer TEXT NOT NULL DEFAULT '', -- of the last change that replicas must read; 0: none
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
  first_offered BIGINT NOT NULL, offered_at BIGINT NOT NULL DEFAULT 0,
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
  created_at    BIGINT NOT NULL, plan TEXT NOT NULL DEFAULT '', effective_at BIGINT NOT NULL DEFAULT 0,
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
  renewed_at     BIGINT NOT NULL DEFAULT 0, family TEXT NOT NULL DEFAULT '',
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
, purpose TEXT NOT NULL DEFAULT '', process TEXT NOT NULL DEFAULT '');

CREATE INDEX signing_keys_seq ON signing_keys (seq);

CREATE TABLE counters (
  service  TEXT   NOT NULL,
  agent_id TEXT   NOT NULL, -- '': shared by all agents of the service
  limit_id TEXT   NOT NULL,
  period   TEXT   NOT NULL,
  slot     BIGINT NOT NULL, -- the highest seen when the row was written; it never goes back
  counts   BYTEA  NOT NULL, -- unsigned varints: units of slot, slot-1, …, no trailing zeros
  frees_at BIGINT NOT NULL, dispatch BIGINT NOT NULL DEFAULT 1, dispatch_slot BIGINT NOT NULL DEFAULT 0, -- when no slot counts any longer; 0: never
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
, context_id TEXT NOT NULL DEFAULT '', unresolved_at BIGINT NOT NULL DEFAULT 0, key_id TEXT NOT NULL DEFAULT '', proof TEXT NOT NULL DEFAULT '', decision TEXT NOT NULL DEFAULT '');

CREATE INDEX executions_service ON executions (service, id);

CREATE INDEX executions_agent ON executions (service, agent_id, id);

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
  reason       TEXT   NOT NULL,
  output         BYTEA  NOT NULL
, code TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', details TEXT NOT NULL DEFAULT '', size BIGINT NOT NULL DEFAULT 0);

CREATE TABLE accounts (
  service   TEXT   NOT NULL,
  agent_id  TEXT   NOT NULL,
  currency  TEXT   NOT NULL,
  topped_up BIGINT NOT NULL DEFAULT 0,
  held      BIGINT NOT NULL DEFAULT 0, -- held and unresolved
  captured  BIGINT NOT NULL DEFAULT 0,
  pooled    BIGINT NOT NULL DEFAULT 0, lines BIGINT NOT NULL DEFAULT 0, head BYTEA NOT NULL DEFAULT '', kept BIGINT NOT NULL DEFAULT 0, carried_by BIGINT NOT NULL DEFAULT -1, -- 1: what it owes counts towards the pool
  PRIMARY KEY (service, agent_id, currency)
);

CREATE INDEX accounts_agent ON accounts (agent_id, currency);

CREATE TABLE pools (
  service  TEXT   NOT NULL,
  currency TEXT   NOT NULL,
  owed     BIGINT NOT NULL, faded BIGINT NOT NULL DEFAULT 0, faded_at BIGINT NOT NULL DEFAULT 0, -- sum over the pooled accounts of max(0, held + captured - topped_up)
  PRIMARY KEY (service, currency)
);

CREATE INDEX policies_offered ON policies (service, (CASE WHEN offered_at > first_offered THEN offered_at ELSE first_offered END));

CREATE INDEX agents_blocked ON agents (service, id) WHERE status = 'blocked';

CREATE INDEX agents_approved ON agents (service, approved, id);

CREATE INDEX agreements_pending ON agreements (service, id) WHERE state = 'pending';

CREATE INDEX tokens_issued ON tokens (service, issued_at, id);

CREATE INDEX tokens_listed ON tokens (service, agent_id, issued_at, id);

CREATE INDEX executions_ended ON executions (settled_at) WHERE amount > 0 AND settled_at > 0;

CREATE INDEX executions_open ON executions (service, agent_id, currency) WHERE state = 'unresolved';

CREATE TABLE carried ( -- the sums of the entries that were deleted from the ledger
  service   TEXT   NOT NULL,
  agent_id  TEXT   NOT NULL,
  currency  TEXT   NOT NULL,
  topped_up BIGINT NOT NULL,
  captured  BIGINT NOT NULL, -- other charges that ended add nothing
  until     BIGINT NOT NULL, held BIGINT NOT NULL DEFAULT 0, -- the time of the last deleted entry
  PRIMARY KEY (service, agent_id, currency)
);

CREATE INDEX carried_until ON carried (service, until);

CREATE TABLE answer_sizes (
  service  TEXT   NOT NULL,
  agent_id TEXT   NOT NULL,
  bytes    BIGINT NOT NULL, -- of the stored answers
  PRIMARY KEY (service, agent_id)
);

CREATE INDEX answer_sizes_none ON answer_sizes (service, agent_id) WHERE bytes <= 0;

CREATE INDEX executions_calls ON executions (service, agent_id,
  (CASE WHEN unresolved_at > 0 THEN unresolved_at WHEN settled_at > 0 THEN settled_at ELSE begun_at END), id) WHERE context_id <> '';

CREATE INDEX executions_context ON executions (service, agent_id, context_id,
  (CASE WHEN unresolved_at > 0 THEN unresolved_at WHEN settled_at > 0 THEN settled_at ELSE begun_at END), id) WHERE context_id <> '';

CREATE TABLE consents (
  service      TEXT   NOT NULL,
  handle       TEXT   NOT NULL, -- in the code and in each refresh token
  agreement_id TEXT   NOT NULL,
  client_id    TEXT   NOT NULL,
  document     TEXT   NOT NULL, -- digest of the client's metadata document
  redirect_uri TEXT   NOT NULL,
  challenge    TEXT   NOT NULL, -- PKCE, S256
  resource     TEXT   NOT NULL,
  request      TEXT   NOT NULL, -- the client's state
  browser      TEXT   NOT NULL, -- digest
  created_at   BIGINT NOT NULL,
  until        BIGINT NOT NULL, -- after this time it may be deleted
  code         TEXT   NOT NULL DEFAULT '', -- digest
  code_until   BIGINT NOT NULL DEFAULT 0,
  code_used    BIGINT NOT NULL DEFAULT 0,
  refresh      TEXT   NOT NULL DEFAULT '', refresh_handle TEXT NOT NULL DEFAULT '', -- digest
  PRIMARY KEY (service, handle)
);

CREATE INDEX consents_until ON consents (until);

CREATE TABLE clients (
  service    TEXT   NOT NULL,
  id         TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  redirects  TEXT   NOT NULL, -- JSON list of strings
  created_at BIGINT NOT NULL,
  until      BIGINT NOT NULL, -- after this time it may be deleted
  PRIMARY KEY (service, id)
);

CREATE INDEX clients_until ON clients (until);

CREATE INDEX clients_oldest ON clients (service, until);

CREATE TABLE invitations (
  service    TEXT   NOT NULL,
  code       TEXT   NOT NULL, -- digest
  name       TEXT   NOT NULL, -- the operator's name for the invited person
  created_at BIGINT NOT NULL,
  until      BIGINT NOT NULL,
  PRIMARY KEY (service, code)
);

CREATE INDEX invitations_until ON invitations (until);

CREATE TABLE almanac (
  service     TEXT   NOT NULL,
  address     TEXT   NOT NULL,
  network     TEXT   NOT NULL, -- agent, test-agent, or '' for either
  record      BYTEA  NOT NULL, -- JSON: the signed statement of the agent
  source      TEXT   NOT NULL, -- address or network of the client that sent it
  active      BIGINT NOT NULL,
  attested_at BIGINT NOT NULL, -- when the agent signed the record
  status_at   BIGINT NOT NULL, -- when the agent signed its status
  until       BIGINT NOT NULL, -- after this time it is deleted
  PRIMARY KEY (service, address)
);

CREATE INDEX almanac_until ON almanac (until);

CREATE INDEX almanac_live ON almanac (service, until);

CREATE INDEX almanac_source ON almanac (service, source, until);

CREATE TABLE almanac_protocols (
  service  TEXT   NOT NULL,
  protocol TEXT   NOT NULL,
  address  TEXT   NOT NULL,
  until    BIGINT NOT NULL,
  PRIMARY KEY (service, protocol, address)
);

CREATE INDEX almanac_protocols_until ON almanac_protocols (until);

CREATE INDEX almanac_protocols_of ON almanac_protocols (service, address);

CREATE TABLE relay_agents (
  agent          BYTEA  PRIMARY KEY,  -- the key
  status         TEXT   NOT NULL,     -- active or suspended
  visibility     TEXT   NOT NULL,     -- public or private
  policy         TEXT   NOT NULL,     -- of the inbox: open, closed, allowlist or blocklist
  shown          BIGINT NOT NULL,     -- 1: active and public, so that others find it
  blank          BIGINT NOT NULL,     -- 1: it has only default values, and can be deleted and created again
  created_at     BIGINT NOT NULL,
  last_active_at BIGINT NOT NULL,
  entries        BIGINT NOT NULL,     -- number of entries in its access list
  last_entry     BIGINT NOT NULL,     -- the last number of an entry
  blobs          BIGINT NOT NULL,     -- number of its blobs
  blob_bytes     BIGINT NOT NULL,     -- their total size
  found_name     TEXT   NOT NULL,     -- the name, folded, for searches
  found_words    TEXT   NOT NULL,     -- name and capabilities, folded, for searches
  name           BYTEA  NOT NULL,
  metadata       BYTEA  NOT NULL,     -- JSON
  capabilities   BYTEA  NOT NULL      -- JSON
);

CREATE INDEX relay_agents_shown ON relay_agents (shown, last_active_at DESC, agent);

CREATE INDEX relay_agents_blank ON relay_agents (last_active_at) WHERE blank = 1;

CREATE TABLE relay_tags (
  agent BYTEA  NOT NULL,
  tag   BYTEA  NOT NULL,
  shown BIGINT NOT NULL, -- as the agent is
  PRIMARY KEY (agent, tag)
);

CREATE INDEX relay_tags_found ON relay_tags (shown, tag, agent);

CREATE TABLE relay_tag_counts (
  tag    BYTEA  PRIMARY KEY,
  agents BIGINT NOT NULL -- number of shown agents that have the tag; more than 0
);

CREATE INDEX relay_tag_counts_order ON relay_tag_counts (agents DESC, tag);

CREATE TABLE relay_signatures (
  agent     BYTEA  NOT NULL,
  signature BYTEA  NOT NULL,
  until     BIGINT NOT NULL, -- after this time the request would be too old
  PRIMARY KEY (agent, signature)
);

CREATE INDEX relay_signatures_until ON relay_signatures (until);

CREATE TABLE relay_acl (
  owner      BYTEA  NOT NULL,
  peer       BYTEA  NOT NULL,
  id         BIGINT NOT NULL, -- a number of the owner's
  entry_type TEXT   NOT NULL, -- allow or block
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner, peer)
);

CREATE UNIQUE INDEX relay_acl_order ON relay_acl (owner, id);

CREATE INDEX relay_acl_types ON relay_acl (owner, entry_type, id);

CREATE TABLE relay_boxes ( -- one for each recipient of messages; changes of its messages lock the row
  recipient BYTEA  PRIMARY KEY,
  waiting   BIGINT NOT NULL, -- messages in state sent
  last_at   BIGINT NOT NULL  -- time of its last accepted message; the next one gets a later time
);

CREATE INDEX relay_boxes_empty ON relay_boxes (last_at) WHERE waiting = 0;

CREATE TABLE relay_messages (
  id           TEXT   PRIMARY KEY,
  sender       BYTEA  NOT NULL,
  recipient    BYTEA  NOT NULL,
  state        TEXT   NOT NULL, -- sent, delivered or expired; a sent message counts as expired once its time has passed
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  delivered_at BIGINT NOT NULL, -- 0: not delivered
  due_at       BIGINT NOT NULL, -- when upkeep next handles it
  size         BIGINT NOT NULL, -- of its stored parts, in bytes
  thread       BYTEA,
  reply        BYTEA,           -- the message to which it replies
  content_type BYTEA  NOT NULL,
  attachments  BYTEA,           -- JSON
  metadata     BYTEA,           -- JSON
  signed       BYTEA,           -- the request with which it arrived
  body         BYTEA            -- JSON
);

CREATE INDEX relay_messages_box ON relay_messages (recipient, state, created_at, id);

CREATE INDEX relay_messages_pair ON relay_messages (recipient, sender, state, created_at, id);

CREATE INDEX relay_messages_reply ON relay_messages (recipient, reply, created_at, id) WHERE reply IS NOT NULL;

CREATE INDEX relay_messages_thread_in ON relay_messages (recipient, thread, created_at, id) WHERE thread IS NOT NULL;

CREATE INDEX relay_messages_thread_out ON relay_messages (sender, thread, created_at, id) WHERE thread IS NOT NULL;

CREATE INDEX relay_messages_sent ON relay_messages (sender, created_at, id);

CREATE INDEX relay_messages_created ON relay_messages (created_at, id);

CREATE INDEX relay_messages_due ON relay_messages (due_at);

CREATE TABLE relay_keys ( -- idempotency keys
  sender     BYTEA  NOT NULL,
  idem_key   BYTEA  NOT NULL,
  digest     BYTEA  NOT NULL, -- of the message that was sent with the key
  message    TEXT   NOT NULL,
  recipient  BYTEA  NOT NULL,
  created_at BIGINT NOT NULL, -- of the message
  expires_at BIGINT NOT NULL, -- of the message
  until      BIGINT NOT NULL, -- of the key
  PRIMARY KEY (sender, idem_key)
);

CREATE INDEX relay_keys_until ON relay_keys (until);

CREATE TABLE relay_blobs (
  id           TEXT   PRIMARY KEY,
  owner        BYTEA  NOT NULL,
  hash         BYTEA  NOT NULL, -- SHA-256
  size         BIGINT NOT NULL,
  content_type BYTEA  NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL  -- not before any message that has it attached
);

CREATE INDEX relay_blobs_owner ON relay_blobs (owner);

CREATE INDEX relay_blobs_until ON relay_blobs (expires_at);

CREATE TABLE relay_attachments (
  message    TEXT   NOT NULL,
  blob       TEXT   NOT NULL,
  recipient  BYTEA  NOT NULL, -- of the message
  expires_at BIGINT NOT NULL, -- of the message
  PRIMARY KEY (message, blob)
);

CREATE INDEX relay_attachments_reader ON relay_attachments (blob, recipient, expires_at);

CREATE INDEX relay_attachments_blob ON relay_attachments (blob, expires_at);

CREATE TABLE relay_webhooks (
  owner      BYTEA  PRIMARY KEY,
  url        BYTEA  NOT NULL,
  secret     BYTEA  NOT NULL,
  enabled    BIGINT NOT NULL,
  failures   BIGINT NOT NULL, -- consecutive failures
  created_at BIGINT NOT NULL  -- when it was last set
);

CREATE TABLE relay_postings ( -- messages that the relay must post to the webhooks of their recipients
  message  TEXT   PRIMARY KEY,
  owner    BYTEA  NOT NULL, -- of the webhook
  attempts BIGINT NOT NULL, -- number of attempts that were begun
  due_at   BIGINT NOT NULL  -- when the next begins
);

CREATE INDEX relay_postings_due ON relay_postings (due_at);

CREATE INDEX relay_postings_owner ON relay_postings (owner);

CREATE TABLE relay_totals ( -- sums over the tables above, in several rows, so that writers do not wait for each other
  part       BIGINT PRIMARY KEY,
  agents     BIGINT NOT NULL,
  waiting    BIGINT NOT NULL,
  messages   BIGINT NOT NULL,
  bytes      BIGINT NOT NULL, -- of messages
  blobs      BIGINT NOT NULL,
  blob_bytes BIGINT NOT NULL,
  webhooks   BIGINT NOT NULL
);

CREATE INDEX executions_under_way ON executions (id, deadline) WHERE state = 'held';

CREATE TABLE nonce_batches (
  id      INTEGER PRIMARY KEY, -- until, or the next number after it that is free: less than a second later
  until   BIGINT NOT NULL,     -- when the last nonce of the row expires
  digests BLOB   NOT NULL      -- 16 bytes for each: package nonces
);

CREATE TABLE journal (
  id      INTEGER PRIMARY KEY, -- in the order of commits
  effects BLOB NOT NULL        -- package journal
);

CREATE TABLE services (
  id        TEXT NOT NULL PRIMARY KEY,
  issuer    TEXT NOT NULL,           -- of the PATs issued last; '': not recorded
  nonces_as TEXT NOT NULL DEFAULT '' -- on SQLite: the id in the digests of its nonces; '': its own
);

CREATE INDEX consents_refresh ON consents (service, refresh_handle);

CREATE INDEX agreements_made ON agreements (service, created_at, id);

CREATE INDEX agreements_of_agent ON agreements (service, agent_id, created_at, id);

CREATE INDEX agreements_pending_made ON agreements (service, created_at, id) WHERE state = 'pending';

CREATE TABLE certificate_files (
    name     TEXT   NOT NULL PRIMARY KEY, -- a path, such as certificates/<CA>/<host>/<host>.key
    value    BYTEA  NOT NULL,
    modified BIGINT NOT NULL              -- nanoseconds since 1970
);

CREATE TABLE certificate_locks (
    name       TEXT   NOT NULL PRIMARY KEY,
    holder     TEXT   NOT NULL,           -- random: which process, and which of its attempts
    held_until BIGINT NOT NULL            -- nanoseconds since 1970; the holder extends it while it works
);

CREATE INDEX accounts_pooled ON accounts (service, currency) WHERE pooled = 1;

CREATE TABLE requests (
    id      TEXT   NOT NULL, -- chosen by the client or the gateway; several requests may have one id
    at      BIGINT NOT NULL, -- nanoseconds since 1970
    process TEXT   NOT NULL,
    number  BIGINT NOT NULL, -- of the record in its process
    record  BYTEA  NOT NULL, -- JSON: the decision, without parameter values and secrets
    until   BIGINT NOT NULL, service TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '', intent TEXT NOT NULL DEFAULT '', decision TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', outcome TEXT NOT NULL DEFAULT '', -- after this time the record is deleted
    PRIMARY KEY (id, at, process, number)
);

CREATE INDEX requests_until ON requests (until);

CREATE TABLE intent_uses (
    service TEXT   NOT NULL,
    intent  TEXT   NOT NULL,
    last_use BIGINT NOT NULL, -- nanoseconds since 1970, exact to an hour
    until   BIGINT NOT NULL, -- nanoseconds since 1970; when the row is deleted
    PRIMARY KEY (service, intent)
);

CREATE INDEX intent_uses_until ON intent_uses (until);

CREATE INDEX accounts_unchained ON accounts (service, agent_id, currency) WHERE lines = 0;

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

CREATE INDEX consents_browser ON consents (service, browser, client_id, created_at);

CREATE TABLE stops (
    service  TEXT   NOT NULL, -- '': every service
    kind     TEXT   NOT NULL, -- charging, consent, agent, intent, door, service
    subject  TEXT   NOT NULL, -- agent id, uid of the intent, or name of the door; '': of the other kinds
    reason   TEXT   NOT NULL,
    actor    TEXT   NOT NULL, -- who stopped it
    at       BIGINT NOT NULL,
    ended_at BIGINT NOT NULL, -- 0: in force
    ended_by TEXT   NOT NULL,
    seq      BIGINT NOT NULL, -- of the last change that replicas must read
    PRIMARY KEY (service, kind, subject)
);

CREATE INDEX stops_seq ON stops (seq);

CREATE INDEX stops_in_force ON stops (at, service, kind, subject) WHERE ended_at = 0;

CREATE INDEX stops_ended ON stops (ended_at) WHERE ended_at > 0;

CREATE TABLE refunds (
    service      TEXT   NOT NULL,
    number       BIGINT NOT NULL, -- of the credit note: 1, 2, 3, … of the service, without gaps
    execution_id TEXT   NOT NULL,
    agent_id     TEXT   NOT NULL,
    intent       TEXT   NOT NULL,
    rule         TEXT   NOT NULL,
    charge       BIGINT NOT NULL, -- billionths of a unit, as amount
    amount       BIGINT NOT NULL,
    currency     TEXT   NOT NULL,
    charged_at   BIGINT NOT NULL,
    reference    TEXT   NOT NULL, -- of the ledger
    reason       TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    k            BIGINT NOT NULL, document TEXT NOT NULL DEFAULT '', -- number in the chain of the account
    PRIMARY KEY (service, number)
);

CREATE UNIQUE INDEX refunds_reference ON refunds (service, reference);

CREATE INDEX refunds_execution ON refunds (service, execution_id);

CREATE INDEX refunds_at ON refunds (at);

CREATE INDEX refunds_agent ON refunds (service, agent_id, number);

CREATE TABLE document_numbers ( -- the last numbers of documents that have no gaps
    service TEXT   NOT NULL,
    kind    TEXT   NOT NULL, -- credit-note
    n       BIGINT NOT NULL, purged BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (service, kind)
);

CREATE TABLE payments (
    service     TEXT   NOT NULL,
    reference   TEXT   NOT NULL, -- of the payment provider, or x402:network:asset:payer:nonce
    agent_id    TEXT   NOT NULL,
    rail        TEXT   NOT NULL, -- card or x402
    kind        TEXT   NOT NULL, -- top-up or refund
    amount      BIGINT NOT NULL, -- billionths of a unit
    currency    TEXT   NOT NULL,
    state       TEXT   NOT NULL, -- unclaimed, settling, unknown, credited or failed
    payload     BYTEA  NOT NULL, -- the request to repeat to the facilitator; empty: none, or no longer needed
    digest      TEXT   NOT NULL, -- of the payload that began the payment; '': none
    payment_id  TEXT   NOT NULL, -- the payer's own name of the payment; '': none
    tx          TEXT   NOT NULL, -- transaction of the facilitator; '': none
    reason      TEXT   NOT NULL, -- why the payment failed or waits; '': unknown
    begun_at    BIGINT NOT NULL, -- nanoseconds since 1970, as in the columns below
    changed_at  BIGINT NOT NULL,
    next_at     BIGINT NOT NULL, -- when a process asks the facilitator next; 0: never again
    ask_until   BIGINT NOT NULL, -- the time until which processes ask the facilitator
    until       BIGINT NOT NULL, -- after this time the row is deleted
    PRIMARY KEY (service, reference)
);

CREATE UNIQUE INDEX payments_open ON payments (service, agent_id) WHERE state IN ('settling', 'unknown');

CREATE INDEX payments_due ON payments (next_at) WHERE next_at > 0;

CREATE INDEX payments_listed ON payments (service, begun_at, reference);

CREATE INDEX payments_until ON payments (until);

CREATE UNIQUE INDEX payments_payment_id ON payments (service, agent_id, payment_id) WHERE payment_id <> '';

CREATE TABLE invoices (
    service  TEXT   NOT NULL,
    number   BIGINT NOT NULL, -- 1, 2, 3, … of the service, without gaps
    agent_id TEXT   NOT NULL,
    month    TEXT   NOT NULL, -- such as 2026-11
    document TEXT   NOT NULL, -- JSON
    at       BIGINT NOT NULL,
    PRIMARY KEY (service, number)
);

CREATE UNIQUE INDEX invoices_month ON invoices (service, agent_id, month);

CREATE INDEX invoices_at ON invoices (at);

CREATE TABLE "evidence" (
  seq     INTEGER PRIMARY KEY,   -- of the entry of the ledger with which the charge began
  service TEXT    NOT NULL,
  proof   TEXT    NOT NULL, -- the proof of key; '': none, or not kept
  asked   BYTEA   NOT NULL  -- the member asked of the audit record
, signed BYTEA NOT NULL DEFAULT '');

CREATE TABLE "ledger" (
  seq          INTEGER PRIMARY KEY,
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
, reference TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT '', epoch BIGINT NOT NULL DEFAULT 0, k BIGINT NOT NULL DEFAULT -1, prev BYTEA NOT NULL DEFAULT '', leaf BYTEA NOT NULL DEFAULT '', salt BYTEA NOT NULL DEFAULT '', outcome TEXT NOT NULL DEFAULT '', answer TEXT NOT NULL DEFAULT '', answer_form TEXT NOT NULL DEFAULT '', details TEXT NOT NULL DEFAULT '');

CREATE INDEX ledger_service ON ledger (service, seq);

CREATE UNIQUE INDEX ledger_reference ON ledger (service, reference) WHERE reference <> '';

CREATE INDEX ledger_top_ups ON ledger (at) WHERE to_state = '';

CREATE INDEX ledger_of_agent ON ledger (service, agent_id, at, seq);

CREATE UNIQUE INDEX ledger_chain ON ledger (service, agent_id, currency, k) WHERE k >= 0;

CREATE INDEX ledger_unchained ON ledger (service, agent_id, currency, at) WHERE k < 0;

CREATE TABLE confirmations (
    service       TEXT   NOT NULL,
    id            TEXT   NOT NULL, -- random; in the address of the page
    agent_id      TEXT   NOT NULL,
    agreement_id  TEXT   NOT NULL, -- the consent
    door          TEXT   NOT NULL, -- '': UIM over HTTP
    intent        TEXT   NOT NULL,
    digest        TEXT   NOT NULL, -- of the call, as a proof of key has it
    binding       TEXT   NOT NULL, -- digest of all that the person confirms
    parameters    BYTEA  NOT NULL, -- JSON, as the service receives them
    sent          BYTEA  NOT NULL, -- JSON, as the client sent them
    amount        BIGINT NOT NULL, -- billionths of a unit
    currency      TEXT   NOT NULL,
    policy_digest TEXT   NOT NULL,
    state         TEXT   NOT NULL, -- asked, confirmed, refused or used
    tries         BIGINT NOT NULL, -- failed attempts to decide
    token         TEXT   NOT NULL, -- digest; '': not confirmed yet
    record        TEXT   NOT NULL, -- the record that the gateway signed when the person confirmed
    execution_id  TEXT   NOT NULL, -- of the call that used it; '': none, or no record
    created_at    BIGINT NOT NULL,
    until         BIGINT NOT NULL, -- after this time it can no longer be confirmed or used
    kept_until    BIGINT NOT NULL, context_id TEXT NOT NULL DEFAULT '', idem_key TEXT NOT NULL DEFAULT '', -- after this time the row is deleted
    PRIMARY KEY (service, id)
);

CREATE UNIQUE INDEX confirmations_open ON confirmations (service, agent_id, binding) WHERE state = 'asked';

CREATE INDEX confirmations_newest ON confirmations (service, agent_id, binding, created_at, id);

CREATE INDEX confirmations_kept ON confirmations (kept_until);

CREATE INDEX consents_agreement ON consents (service, agreement_id);

CREATE INDEX consents_newest ON consents (service, browser, created_at, handle);

CREATE UNIQUE INDEX payments_x402 ON payments (reference) WHERE rail = 'x402';

CREATE INDEX agreements_plans ON agreements (service, agent_id, plan) WHERE state = 'active' AND plan <> '';

CREATE INDEX payments_unclaimed ON payments (service) WHERE state = 'unclaimed';

CREATE TABLE budgets (
    service      TEXT   NOT NULL,
    agreement_id TEXT   NOT NULL, -- the consent
    number       BIGINT NOT NULL, -- 1, 2, 3, … of the consent
    record       TEXT   NOT NULL, -- the signed record
    created_at   BIGINT NOT NULL, public_key BYTEA DEFAULT NULL,
    PRIMARY KEY (service, agreement_id, number)
);

CREATE TABLE console_sessions (
    id           TEXT   NOT NULL PRIMARY KEY, -- digest of the secret in the cookie
    name         TEXT   NOT NULL,
    role         TEXT   NOT NULL, -- viewer, operator, billing or admin
    via          TEXT   NOT NULL, -- token, link or oidc
    credential   TEXT   NOT NULL, -- digest of the credential of the sign-in; '': a link
    created_at   BIGINT NOT NULL,
    confirmed_at BIGINT NOT NULL, -- when the person last confirmed their identity
    ends_at      BIGINT NOT NULL, -- the session ends at this time at the latest
    until        BIGINT NOT NULL  -- it ends at this time unless it is used
);

CREATE INDEX console_sessions_until ON console_sessions (until);

CREATE INDEX console_sessions_created ON console_sessions (created_at, id);

CREATE TABLE console_links (
    code       TEXT   NOT NULL PRIMARY KEY, -- digest
    name       TEXT   NOT NULL,
    role       TEXT   NOT NULL,
    until      BIGINT NOT NULL
);

CREATE INDEX console_links_until ON console_links (until);

CREATE INDEX requests_newest ON requests (at, process, number);

CREATE INDEX requests_service ON requests (service, at, process, number) WHERE service <> '';

CREATE INDEX requests_agent ON requests (agent, at, process, number) WHERE agent <> '';

CREATE INDEX requests_intent ON requests (intent, at, process, number) WHERE intent <> '';

CREATE INDEX requests_reason ON requests (reason, at, process, number) WHERE reason <> '';

CREATE INDEX requests_outcome ON requests (outcome, at, process, number) WHERE outcome <> '';

CREATE INDEX agents_named ON agents (service, lower(name), id) WHERE name <> '';

CREATE INDEX agreements_in_advance ON agreements (service, agent_id, effective_at) WHERE state = 'active' AND effective_at > 0;

CREATE INDEX agreements_effective ON agreements (effective_at) WHERE state = 'active' AND effective_at > 0;

CREATE TABLE processes (
    id            TEXT   NOT NULL PRIMARY KEY, -- random, and new at each start
    name          TEXT   NOT NULL, -- host name and process id
    version       TEXT   NOT NULL,
    configuration TEXT   NOT NULL, -- hash
    started_at    BIGINT NOT NULL,
    reported_at   BIGINT NOT NULL,
    read_seq      BIGINT NOT NULL -- the last change that it has read
);

CREATE INDEX processes_reported ON processes (reported_at);

CREATE TABLE stop_reads (
    process TEXT   NOT NULL, -- processes.id
    seq     BIGINT NOT NULL, -- of the change of the stop
    at      BIGINT NOT NULL,
    PRIMARY KEY (process, seq)
);

CREATE INDEX stop_reads_seq ON stop_reads (seq);

CREATE INDEX stop_reads_at ON stop_reads (at);

CREATE TABLE call_figures (
    period  BIGINT NOT NULL, -- length in nanoseconds: a minute or an hour
    at      BIGINT NOT NULL, -- the beginning of the period
    process TEXT   NOT NULL, -- processes.id
    sums    TEXT   NOT NULL, -- JSON
    PRIMARY KEY (period, at, process)
);

CREATE TABLE reloads (
    at      BIGINT NOT NULL,
    process TEXT   NOT NULL, -- host name and process id
    record  TEXT   NOT NULL, -- JSON: what was changed, by whom; no values of settings
    PRIMARY KEY (at, process)
);

CREATE TABLE credit_moves (
    service    TEXT   NOT NULL,
    reference  TEXT   NOT NULL, -- the operator's name for the move
    from_agent TEXT   NOT NULL,
    to_agent   TEXT   NOT NULL,
    amount     BIGINT NOT NULL, -- billionths of a unit
    currency   TEXT   NOT NULL,
    reason     TEXT   NOT NULL,
    at         BIGINT NOT NULL, -- nanoseconds since 1970
    PRIMARY KEY (service, reference)
);

CREATE INDEX credit_moves_at ON credit_moves (at);

INSERT INTO goose_db_version (id, version_id, is_applied) VALUES
    (1, 0, 1),
    (2, 1, 1),
    (3, 2, 1),
    (4, 3, 1),
    (5, 4, 1),
    (6, 5, 1),
    (7, 6, 1),
    (8, 7, 1),
    (9, 9, 1),
    (10, 10, 1),
    (11, 11, 1),
    (12, 12, 1),
    (13, 13, 1),
    (14, 14, 1),
    (15, 15, 1),
    (16, 16, 1),
    (17, 17, 1),
    (18, 18, 1),
    (19, 19, 1),
    (20, 20, 1),
    (21, 21, 1),
    (22, 22, 1),
    (23, 23, 1),
    (24, 24, 1),
    (25, 25, 1),
    (26, 26, 1),
    (27, 27, 1),
    (28, 28, 1),
    (29, 29, 1),
    (30, 30, 1),
    (31, 31, 1),
    (32, 32, 1),
    (33, 33, 1),
    (34, 34, 1),
    (35, 35, 1),
    (36, 36, 1),
    (37, 37, 1),
    (38, 38, 1),
    (39, 39, 1),
    (40, 40, 1),
    (41, 42, 1),
    (42, 45, 1),
    (43, 46, 1),
    (44, 47, 1),
    (45, 48, 1),
    (46, 49, 1),
    (47, 50, 1),
    (48, 54, 1);

INSERT INTO sequences (name, n) VALUES
    ('changes', 0),
    ('ready', 0),
    ('restored', 0),
    ('ledger', 0),
    ('stepped', 0),
    ('step_forward', 0),
    ('step_back', 0),
    ('answers', 0),
    ('needs', 50),
    ('moves', 0),
    ('logged', 0);
