-- +goose Up
-- The state of a relay of messages (Machine Relay Protocol). Keys are Ed25519 public keys, 32 bytes. Texts of agents are stored as bytes,
-- because they may contain characters that a TEXT column cannot contain.

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
