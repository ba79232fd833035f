-- uimgate: expands
-- +goose Up
-- The plan of the policy that an agreement chooses; '': none. Agreements of one agent that are active have at most one plan.
ALTER TABLE agreements ADD COLUMN plan TEXT NOT NULL DEFAULT '';
CREATE INDEX agreements_plans ON agreements (service, agent_id, plan) WHERE state = 'active' AND plan <> '';
-- Payments that wait for the operator are counted for its status.
CREATE INDEX payments_unclaimed ON payments (service) WHERE state = 'unclaimed';
