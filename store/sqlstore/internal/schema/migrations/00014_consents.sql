-- +goose Up
-- The consents that people give on the gateway's own page. Secrets are stored as digests only.

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
  refresh      TEXT   NOT NULL DEFAULT '', -- digest
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
