-- +goose Up
-- Limits per second leave as many slots for dispatch as commits need.

ALTER TABLE counters ADD COLUMN dispatch BIGINT NOT NULL DEFAULT 1;      -- the most dispatch slots used lately
ALTER TABLE counters ADD COLUMN dispatch_slot BIGINT NOT NULL DEFAULT 0; -- in which that many were last used
