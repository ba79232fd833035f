-- +goose Up
-- The common debt of unapproved agents fades, so that a few of them cannot prevent paid calls of all others.

ALTER TABLE pools ADD COLUMN faded BIGINT NOT NULL DEFAULT 0;    -- the part of owed that no longer counts
ALTER TABLE pools ADD COLUMN faded_at BIGINT NOT NULL DEFAULT 0; -- the time up to which it was computed; 0: it begins with the next charge
