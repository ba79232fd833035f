-- The ledger's numbers are given out by a row, so that writers which run at the same time number in the order of their commits.

INSERT INTO sequences (name, n) SELECT 'ledger', COALESCE(MAX(seq), 0) FROM ledger;
