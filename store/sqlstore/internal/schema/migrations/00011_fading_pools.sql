-- +goose Up
-- What unapproved agents owe together fades, so that a few of them do not end paid calls for all others.

ALTER TABLE pools ADD COLUMN faded BIGINT NOT NULL DEFAULT 0;    -- of owed, what does not count any more
ALTER TABLE pools ADD COLUMN faded_at BIGINT NOT NULL DEFAULT 0; -- up to when; 0: it begins with the next charge
