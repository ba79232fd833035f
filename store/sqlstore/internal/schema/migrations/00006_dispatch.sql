-- +goose Up
-- Limits per second leave as many slots for dispatch as commits need.

ALTER TABLE counters ADD COLUMN dispatch BIGINT NOT NULL DEFAULT 1;      -- the highest number of dispatch slots used recently
ALTER TABLE counters ADD COLUMN dispatch_slot BIGINT NOT NULL DEFAULT 0; -- the slot in which this number was last used
