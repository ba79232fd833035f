-- +goose Up
-- The common debt of unapproved agents fades, so that a few of them cannot prevent paid calls of all others.

ALTER TABLE pools ADD COLUMN faded BIGINT NOT NULL DEFAULT 0;    -- of owed, what does not count any more
ALTER TABLE pools ADD COLUMN faded_at BIGINT NOT NULL DEFAULT 0; -- up to when; 0: it begins with the next charge
