-- uimgate: expands
-- +goose Up
-- The consent page compares the terms with those of the last consent that the same browser gave for the same client.
CREATE INDEX consents_browser ON consents (service, browser, client_id, created_at);
