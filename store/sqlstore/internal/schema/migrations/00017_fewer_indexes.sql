-- +goose Up
-- Each index is written with every charge: the ledger of an agent has one for all that is asked of it, and so have the calls
-- that are under way.

CREATE INDEX ledger_of_agent ON ledger (service, agent_id, at, seq);
DROP INDEX ledger_agent;
DROP INDEX ledger_time;
DROP INDEX ledger_execution;
CREATE INDEX executions_under_way ON executions (id, deadline) WHERE state = 'held';
DROP INDEX executions_due;
DROP INDEX executions_held;
