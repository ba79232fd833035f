-- +goose Up
-- Each index is written with every charge, so one index serves all queries on the ledger of an agent, and one serves all on
-- the calls in progress.

CREATE INDEX ledger_of_agent ON ledger (service, agent_id, at, seq);
DROP INDEX ledger_agent;
DROP INDEX ledger_time;
DROP INDEX ledger_execution;
CREATE INDEX executions_under_way ON executions (id, deadline) WHERE state = 'held';
DROP INDEX executions_due;
DROP INDEX executions_held;
