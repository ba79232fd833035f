-- +goose Up
-- Only on SQLite. The changes of calls that the other tables do not have yet, for about a second: one row for each transaction. Before, each
-- row of the tables and of their indexes was in another page. A process that opens the database first writes the rows to the other tables.

CREATE TABLE journal (
  id      INTEGER PRIMARY KEY, -- in the order of commits
  effects BLOB NOT NULL        -- package journal
);
