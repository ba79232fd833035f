-- Statements by time, top-ups with a reference that is used once, deletion of old ledger entries, and databases restored to an earlier state.

ALTER TABLE ledger ADD COLUMN reference TEXT NOT NULL DEFAULT ''; -- of a top-up: the operator's name for it; '': none
CREATE UNIQUE INDEX ledger_reference ON ledger (service, reference) WHERE reference <> '';
CREATE INDEX ledger_time ON ledger (service, agent_id, at);
CREATE INDEX ledger_execution ON ledger (execution_id);
CREATE INDEX ledger_top_ups ON ledger (at) WHERE to_state = '';
CREATE INDEX executions_ended ON executions (settled_at) WHERE amount > 0 AND settled_at > 0;
CREATE INDEX executions_open ON executions (service, agent_id, currency) WHERE state = 'unresolved';

CREATE TABLE carried ( -- the sums of the entries that were deleted from the ledger
  service   TEXT   NOT NULL,
  agent_id  TEXT   NOT NULL,
  currency  TEXT   NOT NULL,
  topped_up BIGINT NOT NULL,
  captured  BIGINT NOT NULL, -- other charges that ended add nothing
  until     BIGINT NOT NULL, -- the time of the last deleted entry
  PRIMARY KEY (service, agent_id, currency)
);
CREATE INDEX carried_until ON carried (service, until);

INSERT INTO sequences (name, n) VALUES ('restored', 0); -- when the database was last restored to an earlier state; 0: never
