-- uimgate: expands
-- +goose Up
-- The highest number of a document that was deleted because of its age. Documents with a higher number are all there.
ALTER TABLE document_numbers ADD COLUMN purged BIGINT NOT NULL DEFAULT 0;
