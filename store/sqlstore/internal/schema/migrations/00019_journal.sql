-- +goose Up
-- On SQLite alone. What calls have changed that the other tables do not have yet, for a second or so: a row for each transaction, where each
-- row of theirs and of their indexes was in another page. Whoever opens the database writes it into the other tables first.

CREATE TABLE journal (
  id      INTEGER PRIMARY KEY, -- in the order of commits
  effects BLOB NOT NULL        -- package journal
);
