-- uimgate: expands
-- +goose Up
-- When an agreement takes effect that was made in advance, and ends those of the agent with another plan; 0: it has taken effect.
ALTER TABLE agreements ADD COLUMN effective_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX agreements_in_advance ON agreements (service, agent_id, effective_at) WHERE state = 'active' AND effective_at > 0;
CREATE INDEX agreements_effective ON agreements (effective_at) WHERE state = 'active' AND effective_at > 0;
