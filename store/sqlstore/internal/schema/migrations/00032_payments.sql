-- uimgate: expands
-- +goose Up
-- Payments that reach the gateway without the operator: from a hosted checkout, or by x402. A credited payment has a top-up in the ledger
-- under the same reference.
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
