-- uimgate: expands
-- +goose Up
-- Operators list requests by time, and by one of these columns. Rows of the previous release have empty columns until they expire.
ALTER TABLE requests ADD COLUMN service TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN intent TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN decision TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_newest ON requests (at, process, number);
CREATE INDEX requests_service ON requests (service, at, process, number) WHERE service <> '';
CREATE INDEX requests_agent ON requests (agent, at, process, number) WHERE agent <> '';
CREATE INDEX requests_intent ON requests (intent, at, process, number) WHERE intent <> '';
CREATE INDEX requests_reason ON requests (reason, at, process, number) WHERE reason <> '';
CREATE INDEX requests_outcome ON requests (outcome, at, process, number) WHERE outcome <> '';
-- Operators search agents by the beginning of their names.
CREATE INDEX agents_named ON agents (service, lower(name), id) WHERE name <> '';
