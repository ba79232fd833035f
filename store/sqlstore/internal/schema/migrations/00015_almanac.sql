-- +goose Up
-- Agents of the uAgents protocol that have registered with a service that is their Almanac.

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
