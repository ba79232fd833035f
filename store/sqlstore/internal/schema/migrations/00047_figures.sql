-- uimgate: expands
-- +goose Up
-- Sums over the calls of each process, for operators.
CREATE TABLE call_figures (
    period  BIGINT NOT NULL, -- length in nanoseconds: a minute or an hour
    at      BIGINT NOT NULL, -- the beginning of the period
    process TEXT   NOT NULL, -- processes.id
    sums    TEXT   NOT NULL, -- JSON
    PRIMARY KEY (period, at, process)
);
-- The last reloads of the configuration of each process, for operators.
CREATE TABLE reloads (
    at      BIGINT NOT NULL,
    process TEXT   NOT NULL, -- host name and process id
    record  TEXT   NOT NULL, -- JSON: what was changed, by whom; no values of settings
    PRIMARY KEY (at, process)
);
