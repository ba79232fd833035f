-- +goose Up
-- Agreements are listed by the time they were made. Their ids are made of times that agents sign, which may be minutes apart.
CREATE INDEX agreements_made ON agreements (service, created_at, id);
CREATE INDEX agreements_of_agent ON agreements (service, agent_id, created_at, id);
CREATE INDEX agreements_pending_made ON agreements (service, created_at, id) WHERE state = 'pending';
DROP INDEX agreements_listed;
