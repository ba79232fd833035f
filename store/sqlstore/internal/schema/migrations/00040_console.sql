-- uimgate: expands
-- +goose Up
-- The sessions of people who are signed in to the console of the operator.
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
-- Links that sign one person in, once.
CREATE TABLE console_links (
    code       TEXT   NOT NULL PRIMARY KEY, -- digest
    name       TEXT   NOT NULL,
    role       TEXT   NOT NULL,
    until      BIGINT NOT NULL
);
CREATE INDEX console_links_until ON console_links (until);
