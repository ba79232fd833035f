-- uimgate: expands
-- +goose Up
-- The stops of the operator, for one service or for all. A process of the previous release does not read them.
CREATE TABLE stops (
    service  TEXT   NOT NULL, -- '': every service
    kind     TEXT   NOT NULL, -- charging, consent, agent, intent, door, service
    subject  TEXT   NOT NULL, -- agent id, uid of the intent, or name of the door; '': of the other kinds
    reason   TEXT   NOT NULL,
    actor    TEXT   NOT NULL, -- who stopped it
    at       BIGINT NOT NULL,
    ended_at BIGINT NOT NULL, -- 0: in force
    ended_by TEXT   NOT NULL,
    seq      BIGINT NOT NULL, -- of the last change that replicas must read
    PRIMARY KEY (service, kind, subject)
);
CREATE INDEX stops_seq ON stops (seq);
CREATE INDEX stops_in_force ON stops (at, service, kind, subject) WHERE ended_at = 0;
CREATE INDEX stops_ended ON stops (ended_at) WHERE ended_at > 0;
