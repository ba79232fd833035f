-- uimgate: expands
-- +goose Up
-- Credit that the operator moved from one agent to another. Each move has a reversal and a top-up in the ledger, whose references are
-- move: and the reference, with :from or :to.
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
