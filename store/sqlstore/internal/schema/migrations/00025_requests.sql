-- uimgate: expands
-- +goose Up
-- The reasons why requests were permitted or refused, by the id that agents quote. Only operators read this table.
CREATE TABLE requests (
    id      TEXT   NOT NULL, -- chosen by the client or the gateway; several requests may have one id
    at      BIGINT NOT NULL, -- nanoseconds since 1970
    process TEXT   NOT NULL,
    number  BIGINT NOT NULL, -- of the record in its process
    record  BYTEA  NOT NULL, -- JSON: the decision, without parameter values and secrets
    until   BIGINT NOT NULL, -- after this time the record is deleted
    PRIMARY KEY (id, at, process, number)
);
CREATE INDEX requests_until ON requests (until);
