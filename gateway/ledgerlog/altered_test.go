package ledgerlog_test

import (
	"errors"
	"fmt"
	"testing"

	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Anyone who can write to the database can make the chain of an account consistent again, but not the log.
func TestAlteredLogIsFound(t *testing.T) {
	t.Parallel()
	const mended = `UPDATE accounts SET lines = (SELECT MAX(k) + 1 FROM ledger l WHERE l.agent_id = accounts.agent_id),
		head = (SELECT leaf FROM ledger l WHERE l.agent_id = accounts.agent_id ORDER BY k DESC LIMIT 1),
		topped_up = (SELECT SUM(amount) FROM ledger l WHERE l.agent_id = accounts.agent_id);`
	for name, tt := range map[string]struct {
		change string
		found  bool
	}{
		"nothing":                    {"SELECT 1", false},
		"an added leaf":              {"UPDATE log_tiles SET hashes = hashes || x'" + fmt.Sprintf("%064x", 7) + "' WHERE level = 0", true},
		"a missing tile":             {"DELETE FROM log_tiles WHERE level = 0", true},
		"another root":               {"UPDATE log_heads SET root = x'" + fmt.Sprintf("%064x", 7) + "'", true},
		"a smaller size":             {"UPDATE log_heads SET size = size - 1", true},
		"a line that was put in":     {"UPDATE log_entries SET leaf = x'" + fmt.Sprintf("%064x", 7) + "'", true},
		"the lines in another order": {"UPDATE ledger SET seq = -seq WHERE seq IN (1, 2); UPDATE ledger SET seq = seq + 3 WHERE seq < 0", true},
		"the text of a checkpoint":   {"UPDATE log_heads SET checkpoint = replace(checkpoint, '\n12\n', '\n11\n')", true},
		"an entry of a key": {`UPDATE log_entries SET receipt =
			(SELECT receipt FROM log_entries WHERE seq = (SELECT MIN(seq) FROM log_entries)) WHERE seq = (SELECT MAX(seq) FROM log_entries)`, true},
		"the last line is cut, and its account mended": {"DELETE FROM ledger WHERE seq = (SELECT MAX(seq) FROM ledger);" + mended, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := sqliteFile(t)
			s := openStore(t, place)
			p := start(t, s, "one")
			topUp(t, s, 10)
			if err := p.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			sqlitetest.Alter(t, place, tt.change)
			if _, err := sqlstore.Verify(t.Context(), place); errors.Is(err, store.ErrAltered) != tt.found || (err != nil) != tt.found {
				t.Errorf("got %v, want it found: %v", err, tt.found)
			}
		})
	}
}
