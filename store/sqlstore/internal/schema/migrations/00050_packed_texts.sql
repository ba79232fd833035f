-- +goose Up
-- The texts of new charges are stored without the words that their executions have: package ledger packs them. Texts that were stored
-- earlier stay as they are. Processes of earlier releases cannot read packed texts.

ALTER TABLE evidence ADD COLUMN signed BYTEA NOT NULL DEFAULT ''; -- the packed proof of key; then proof is empty
