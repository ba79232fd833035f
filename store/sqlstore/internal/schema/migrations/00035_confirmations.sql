-- uimgate: expands
-- +goose Up
-- Calls under consent that a person is asked to confirm, or has decided on.
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
    kept_until    BIGINT NOT NULL, -- after this time the row is deleted
    PRIMARY KEY (service, id)
);
CREATE UNIQUE INDEX confirmations_open ON confirmations (service, agent_id, binding) WHERE state = 'asked';
CREATE INDEX confirmations_newest ON confirmations (service, agent_id, binding, created_at, id);
CREATE INDEX confirmations_kept ON confirmations (kept_until);
CREATE INDEX consents_agreement ON consents (service, agreement_id);
CREATE INDEX consents_newest ON consents (service, browser, created_at, handle);
