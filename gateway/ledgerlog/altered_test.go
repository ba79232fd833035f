package ledgerlog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// Verify finds tiles that do not belong to the leaves, and signatures by the keys of the log that are not valid.
func TestAlteredProofsAndSignaturesAreFound(t *testing.T) {
	t.Parallel()
	whole := sqliteFile(t)
	s := openStore(t, whole)
	p := start(t, s, "one")
	topUp(t, s, 300) // more than a tile
	p.round(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	zeros := fmt.Sprintf("%064x", 7)
	for name, change := range map[string]string{
		"":                                "SELECT 1",
		"another hash above the leaves":   "UPDATE log_tiles SET hashes = x'" + zeros + "' WHERE level = 1",
		"a missing tile above the leaves": "DELETE FROM log_tiles WHERE level = 1",
		"a further tile above the leaves": "INSERT INTO log_tiles VALUES ('shop', 0, 2, 0, 0, x'" + zeros + "')",
		"a further tile of leaves":        "INSERT INTO log_tiles VALUES ('shop', 0, 0, 2, 1000, x'" + zeros + "')",
		"another signature of a checkpoint": `UPDATE log_heads
			SET checkpoint = substr(checkpoint, 1, length(checkpoint) - 6) || 'AAAA=' || char(10)`,
		"another origin of a checkpoint":         "UPDATE log_heads SET checkpoint = 'x' || checkpoint",
		"another time of a checkpoint":           "UPDATE log_heads SET checkpoint = replace(checkpoint, 'time 1', 'time 2')",
		"another key of a checkpoint":            "UPDATE log_heads SET kid = (SELECT kid FROM log_entries WHERE purpose = 'receipt')",
		"another key in a row":                   "UPDATE log_entries SET kid = kid || 'x' WHERE purpose = 'log'",
		"another purpose in a row":               "UPDATE log_entries SET purpose = 'pat' WHERE purpose = 'receipt'",
		"another epoch in a row":                 "UPDATE log_entries SET epoch = 7",
		"another signature of an entry":          "UPDATE log_entries SET receipt = substr(receipt, 1, length(receipt) - 4) || 'AAAA'",
		"lines that count as logged but are not": "DELETE FROM log_tiles; DELETE FROM log_heads",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := filepath.Join(t.TempDir(), "state.db")
			if err := os.WriteFile(place, content, 0o600); err != nil {
				t.Fatal(err)
			}
			sqlitetest.Alter(t, place, change)
			if _, err := sqlstore.Verify(t.Context(), place); errors.Is(err, store.ErrAltered) != (name != "") || (err != nil) != (name != "") {
				t.Errorf("got %v, want an error: %t", err, name != "")
			}
		})
	}
}

// A check since a point finds a log that does not begin with the leaves that were verified, even if the log agrees with itself.
func TestLogContinuesTheVerifiedOne(t *testing.T) {
	t.Parallel()
	place := sqliteFile(t)
	s := openStore(t, place)
	p := start(t, s, "one")
	topUp(t, s, 300) // more than a tile
	p.round(t)
	_, point, err := sqlstore.VerifySince(t.Context(), place, nil)
	if err != nil || len(point.Logs) != 1 || point.Logs[0].Size < 300 {
		t.Fatalf("got %+v, %v", point, err)
	}
	topUp(t, s, 300)
	p.round(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(change func(*sqlstore.VerifiedLog)) error {
		other := point.Logs[0]
		change(&other)
		_, _, err := sqlstore.VerifySince(t.Context(), place, &sqlstore.VerifiedPoint{Seq: point.Seq, Logs: []sqlstore.VerifiedLog{other}})
		return err
	}
	if err := check(func(*sqlstore.VerifiedLog) {}); err != nil {
		t.Errorf("the log that was verified: %v", err)
	}
	if err := check(func(l *sqlstore.VerifiedLog) { l.Root[0]++ }); !errors.Is(err, store.ErrAltered) {
		t.Errorf("another root: got %v, want %v", err, store.ErrAltered)
	}
	for name, change := range map[string]func(*sqlstore.VerifiedLog){
		"a longer log":  func(l *sqlstore.VerifiedLog) { l.Size = 1000 },
		"another epoch": func(l *sqlstore.VerifiedLog) { l.Epoch = 7 },
	} {
		if err := check(change); !errors.Is(err, store.ErrAltered) || !errors.Is(err, sqlstore.ErrBeforePoint) {
			t.Errorf("%s: got %v, want %v", name, err, sqlstore.ErrBeforePoint)
		}
	}
}
