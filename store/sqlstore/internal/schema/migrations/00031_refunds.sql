-- uimgate: expands
-- +goose Up
-- The refunds of captured charges. Each refund is a top-up in the ledger, whose reference begins with refund: and the id of the
-- execution.
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
    k            BIGINT NOT NULL, -- number in the chain of the account
    PRIMARY KEY (service, number)
);
CREATE UNIQUE INDEX refunds_reference ON refunds (service, reference);
CREATE INDEX refunds_execution ON refunds (service, execution_id);
CREATE INDEX refunds_at ON refunds (at);
CREATE INDEX refunds_agent ON refunds (service, agent_id, number);

CREATE TABLE document_numbers ( -- the last numbers of documents that have no gaps
    service TEXT   NOT NULL,
    kind    TEXT   NOT NULL, -- credit-note
    n       BIGINT NOT NULL,
    PRIMARY KEY (service, kind)
);
