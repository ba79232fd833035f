-- uimgate: expands
-- +goose Up
-- The data for certificates by ACME: accounts, keys, certificates, and the challenges of an order, so that every process can answer them.
CREATE TABLE certificate_files (
    name     TEXT   NOT NULL PRIMARY KEY, -- a path, such as certificates/<CA>/<host>/<host>.key
    value    BYTEA  NOT NULL,
    modified BIGINT NOT NULL              -- nanoseconds since 1970
);
-- One process at a time orders a certificate.
CREATE TABLE certificate_locks (
    name       TEXT   NOT NULL PRIMARY KEY,
    holder     TEXT   NOT NULL,           -- random: which process, and which of its attempts
    held_until BIGINT NOT NULL            -- nanoseconds since 1970; the holder extends it while it works
);
