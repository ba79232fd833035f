-- +goose Up
-- Agents can list their earlier calls, also by conversation. The gateway has keys for other purposes than PATs.

ALTER TABLE executions ADD COLUMN context_id TEXT NOT NULL DEFAULT '';      -- of the conversation; '': the protocol has none
ALTER TABLE executions ADD COLUMN unresolved_at BIGINT NOT NULL DEFAULT 0;  -- when it became unresolved; 0: never
CREATE INDEX executions_calls ON executions (service, agent_id,
  (CASE WHEN unresolved_at > 0 THEN unresolved_at WHEN settled_at > 0 THEN settled_at ELSE begun_at END), id) WHERE context_id <> '';
CREATE INDEX executions_context ON executions (service, agent_id, context_id,
  (CASE WHEN unresolved_at > 0 THEN unresolved_at WHEN settled_at > 0 THEN settled_at ELSE begun_at END), id) WHERE context_id <> '';

ALTER TABLE signing_keys ADD COLUMN purpose TEXT NOT NULL DEFAULT ''; -- '': PATs; otherwise what it signs, such as card
