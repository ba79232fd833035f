-- +goose Up
-- The services that have state. A start or a reload compares them with those of the configuration.

CREATE TABLE services (
  id        TEXT NOT NULL PRIMARY KEY,
  issuer    TEXT NOT NULL,           -- of the PATs issued last; '': not recorded
  nonces_as TEXT NOT NULL DEFAULT '' -- on SQLite: the id in the digests of its nonces; '': its own
);
INSERT INTO services (id, issuer)
  SELECT service, MAX(issuer) FROM agreements
  WHERE (service, created_at) IN (SELECT service, MAX(created_at) FROM agreements GROUP BY service) GROUP BY service;
INSERT INTO services (id, issuer)
  SELECT service, '' FROM (SELECT service FROM agents UNION SELECT service FROM accounts UNION SELECT service FROM revocations
    UNION SELECT service FROM invitations) AS found
  WHERE service NOT IN (SELECT id FROM services);

INSERT INTO sequences (name, n) VALUES
  ('needs', 20), -- the schema version that a program needs to use this database: package schema
  ('moves', 0);  -- how many times the state of a service was moved to another id
