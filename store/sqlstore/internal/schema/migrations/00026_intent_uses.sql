-- uimgate: expands
-- +goose Up
-- When agents last called each intent, so that a reload does not end an intent that agents use without the operator's knowledge.
CREATE TABLE intent_uses (
    service TEXT   NOT NULL,
    intent  TEXT   NOT NULL,
    last_use BIGINT NOT NULL, -- nanoseconds since 1970, exact to an hour
    until   BIGINT NOT NULL, -- nanoseconds since 1970; when the row is deleted
    PRIMARY KEY (service, intent)
);
CREATE INDEX intent_uses_until ON intent_uses (until);
