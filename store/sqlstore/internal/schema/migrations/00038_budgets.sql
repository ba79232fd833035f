-- uimgate: expands
-- +goose Up
-- The budgets with which people replaced those of their consents. The newest one of a consent applies. A process of the previous release
-- applies the budget in the PAT.
CREATE TABLE budgets (
    service      TEXT   NOT NULL,
    agreement_id TEXT   NOT NULL, -- the consent
    number       BIGINT NOT NULL, -- 1, 2, 3, … of the consent
    record       TEXT   NOT NULL, -- the signed record
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (service, agreement_id, number)
);
