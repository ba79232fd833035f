-- uimgate: expands
-- +goose Up
-- The issued invoices, and the customers that they name.
ALTER TABLE agents ADD COLUMN buyer TEXT NOT NULL DEFAULT ''; -- JSON; empty: not stated
ALTER TABLE refunds ADD COLUMN document TEXT NOT NULL DEFAULT ''; -- JSON: the other contents of the credit note

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
