-- +goose Up
-- Agreements are listed by the time at which they were made. Their ids contain the times that agents sign, which may differ by minutes.
CREATE INDEX agreements_made ON agreements (service, created_at, id);
CREATE INDEX agreements_of_agent ON agreements (service, agent_id, created_at, id);
CREATE INDEX agreements_pending_made ON agreements (service, created_at, id) WHERE state = 'pending';
DROP INDEX agreements_listed;
