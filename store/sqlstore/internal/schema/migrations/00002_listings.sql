-- Listings are paged by key, so each has an index in its order.

ALTER TABLE policies ADD COLUMN offered_at BIGINT NOT NULL DEFAULT 0; -- last offered from; 0: from first_offered on
CREATE INDEX policies_offered ON policies (service, (CASE WHEN offered_at > first_offered THEN offered_at ELSE first_offered END));

CREATE INDEX agents_blocked ON agents (service, id) WHERE status = 'blocked';
CREATE INDEX agents_approved ON agents (service, approved, id);
CREATE INDEX agreements_listed ON agreements (service, agent_id, id);
CREATE INDEX agreements_pending ON agreements (service, id) WHERE state = 'pending';
CREATE INDEX tokens_issued ON tokens (service, issued_at, id);
CREATE INDEX tokens_listed ON tokens (service, agent_id, issued_at, id);
