package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/store"
)

func TestListingsOfAClosedStoreAreUnavailable(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Agents(t.Context(), store.AgentFilter{}); err == nil || list != nil {
		t.Errorf("Agents: %v, %v; want nil, an error", list, err)
	}
	if list, err := s.Tokens(t.Context(), store.TokenFilter{}); err == nil || list != nil {
		t.Errorf("Tokens: %v, %v; want nil, an error", list, err)
	}
}

// Each listing must read an index in its own order: the cost of a page does not depend on the size of the table.
func TestListingsNeedNoSorting(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, query := range []string{
		"SELECT id FROM agents WHERE service = 's' ORDER BY service, id",
		"SELECT id FROM agents WHERE service = 's' AND status = 'blocked' AND id > 'a' ORDER BY service, id",
		"SELECT id FROM agents WHERE service = 's' AND approved = 1 ORDER BY service, id",
		"SELECT id FROM agreements WHERE service = 's' AND id < 'x' ORDER BY id DESC",
		"SELECT id FROM agreements WHERE service = 's' AND agent_id = 'a' ORDER BY id DESC",
		"SELECT id FROM agreements WHERE service = 's' AND state = 'pending' ORDER BY id DESC",
		"SELECT id FROM tokens WHERE service = 's' AND (issued_at, id) < (1, 'x') ORDER BY issued_at DESC, id DESC",
		"SELECT id FROM tokens WHERE service = 's' AND agent_id = 'a' AND (issued_at, id) < (1, 'x') ORDER BY issued_at DESC, id DESC",
	} {
		rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(plan, "; "); strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, "INDEX") {
			t.Errorf("%s\n%s", query, text)
		}
	}
}
