-- uimgate: expands
-- +goose Up
-- A call that waits for a confirmation continues in its conversation, under the idempotency key with which it began.
ALTER TABLE confirmations ADD COLUMN context_id TEXT NOT NULL DEFAULT ''; -- the conversation; '': none
ALTER TABLE confirmations ADD COLUMN idem_key TEXT NOT NULL DEFAULT ''; -- '': none
