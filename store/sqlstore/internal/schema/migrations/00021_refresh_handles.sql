-- +goose Up
ALTER TABLE consents ADD COLUMN refresh_handle TEXT NOT NULL DEFAULT ''; -- in each refresh token; empty: handle is
CREATE INDEX consents_refresh ON consents (service, refresh_handle);
