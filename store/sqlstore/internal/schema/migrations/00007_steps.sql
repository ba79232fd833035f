-- +goose Up
-- A step of the database's clock holds back limits, also in a process that starts after it.

INSERT INTO sequences (name, n) VALUES
  ('stepped', 0),      -- when the clock was last seen to have been set, on the clock as it was set; 0: never
  ('step_forward', 0), -- by how much, nanoseconds
  ('step_back', 0);
