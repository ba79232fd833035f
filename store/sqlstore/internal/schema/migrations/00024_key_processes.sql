-- uimgate: expands
-- +goose Up
-- Operators see which process signs with which key.
ALTER TABLE signing_keys ADD COLUMN process TEXT NOT NULL DEFAULT ''; -- the name of the process that signs with it; '': not recorded
-- Operators see which agents use the common credit of unapproved agents.
CREATE INDEX accounts_pooled ON accounts (service, currency) WHERE pooled = 1;
