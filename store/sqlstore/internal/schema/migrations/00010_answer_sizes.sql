-- +goose Up
-- The total size of the answers that are stored under idempotency keys is limited, for each agent and in total.

ALTER TABLE answers ADD COLUMN size BIGINT NOT NULL DEFAULT 0; -- counted bytes
UPDATE answers SET size = OCTET_LENGTH(output) + OCTET_LENGTH(message) + OCTET_LENGTH(details);

CREATE TABLE answer_sizes (
  service  TEXT   NOT NULL,
  agent_id TEXT   NOT NULL,
  bytes    BIGINT NOT NULL, -- of the stored answers
  PRIMARY KEY (service, agent_id)
);
CREATE INDEX answer_sizes_none ON answer_sizes (service, agent_id) WHERE bytes <= 0;
INSERT INTO answer_sizes (service, agent_id, bytes)
  SELECT e.service, e.agent_id, SUM(a.size) FROM answers a JOIN executions e ON e.id = a.execution_id GROUP BY e.service, e.agent_id;
INSERT INTO sequences (name, n) SELECT 'answers', COALESCE(SUM(size), 0) FROM answers; -- bytes of all answers
