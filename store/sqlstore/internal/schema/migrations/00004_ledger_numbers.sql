-- A row has the last number of the ledger, so that concurrent writers number entries in the order of their commits.

INSERT INTO sequences (name, n) SELECT 'ledger', COALESCE(MAX(seq), 0) FROM ledger;
