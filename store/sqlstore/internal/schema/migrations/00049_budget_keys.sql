-- uimgate: expands
-- +goose Up
-- The public half of the key that signed the record of a changed budget. The row of the key in signing_keys is deleted when the key ends.
ALTER TABLE budgets ADD COLUMN public_key BYTEA DEFAULT NULL; -- DER SubjectPublicKeyInfo; NULL: a process of an earlier release wrote the row
