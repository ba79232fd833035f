-- +goose Up
-- uimgate: expands
-- Statements find entries by their number in the chain; those from before there were chains have none, and are found by their time.

CREATE INDEX ledger_unchained ON ledger (service, agent_id, currency, at) WHERE k < 0;
