-- An answer is stored as the result of a call, an output or a refusal, and no longer as an HTTP response.

ALTER TABLE answers ADD COLUMN code TEXT NOT NULL DEFAULT '';    -- of a refusal
ALTER TABLE answers ADD COLUMN message TEXT NOT NULL DEFAULT ''; -- of a refusal
ALTER TABLE answers ADD COLUMN details TEXT NOT NULL DEFAULT ''; -- of a refusal: a JSON object
UPDATE answers SET
  code    = COALESCE(CAST(body AS TEXT) -> 'error' ->> 'code', ''),
  message = COALESCE(CAST(body AS TEXT) -> 'error' ->> 'message', ''),
  details = COALESCE(CAST(CAST(body AS TEXT) -> 'error' -> 'details' AS TEXT), ''),
  body    = ''
  WHERE reason <> '';
ALTER TABLE answers RENAME COLUMN body TO output; -- JSON; empty if the call was refused
ALTER TABLE answers DROP COLUMN status;
ALTER TABLE answers DROP COLUMN content_type;
