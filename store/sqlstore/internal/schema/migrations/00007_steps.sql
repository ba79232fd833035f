-- +goose Up
-- A step of the database's clock holds back limits, also in a process that starts after it.

INSERT INTO sequences (name, n) VALUES
  ('stepped', 0),      -- when a step of the clock was last detected, by the clock after the step; 0: never
  ('step_forward', 0), -- the size of the step, in nanoseconds
  ('step_back', 0);
