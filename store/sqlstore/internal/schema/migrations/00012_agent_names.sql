-- +goose Up
-- What the operator calls an agent: who the customer is.

ALTER TABLE agents ADD COLUMN name TEXT NOT NULL DEFAULT '';
