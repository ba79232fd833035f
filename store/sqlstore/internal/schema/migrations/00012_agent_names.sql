-- +goose Up
-- The operator's name for an agent, which identifies the customer.

ALTER TABLE agents ADD COLUMN name TEXT NOT NULL DEFAULT '';
