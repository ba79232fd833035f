-- uimgate: expands
-- +goose Up
-- The running processes, for operators. A process of the previous release has no row.
CREATE TABLE processes (
    id            TEXT   NOT NULL PRIMARY KEY, -- random, and new at each start
    name          TEXT   NOT NULL, -- host name and process id
    version       TEXT   NOT NULL,
    configuration TEXT   NOT NULL, -- hash
    started_at    BIGINT NOT NULL,
    reported_at   BIGINT NOT NULL,
    read_seq      BIGINT NOT NULL -- the last change that it has read
);
CREATE INDEX processes_reported ON processes (reported_at);
-- When each process read a change of a stop.
CREATE TABLE stop_reads (
    process TEXT   NOT NULL, -- processes.id
    seq     BIGINT NOT NULL, -- of the change of the stop
    at      BIGINT NOT NULL,
    PRIMARY KEY (process, seq)
);
CREATE INDEX stop_reads_seq ON stop_reads (seq);
CREATE INDEX stop_reads_at ON stop_reads (at);
