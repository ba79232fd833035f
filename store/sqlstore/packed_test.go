package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The texts of charges that an earlier release stored as they are remain evidence, beside the packed texts of new charges.
func TestUnpackedTextsAreRead(t *testing.T) {
	t.Parallel()
	for _, at := range places {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			place := at.at(t)
			open := func() *sqlstore.Store {
				t.Helper()
				s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now})
				must(t, err)
				return s
			}
			s := open()
			agreedCall(t, s, "1", `{"uid": "p1"}`)
			must(t, s.Close())
			const earlier = "UPDATE evidence SET proof = 'proof 1', signed = '', asked = "
			if at.name == "sqlite" {
				_, err := otherProcess(t, filepath.Dir(place)).ExecContext(t.Context(), earlier+"CAST('question 1' AS BLOB)")
				must(t, err)
			} else {
				onDatabase(t, place, earlier+"'question 1'::bytea")
			}
			s = open()
			agreedCall(t, s, "2", `{"uid": "p2"}`)
			for _, id := range []string{"1", "2"} {
				f := store.EntryFilter{Service: "s", AgentID: "agent-" + pat.AgentID(id), Currency: "USD", After: -1, Evidence: true}
				list, err := s.Entries(t.Context(), f)
				must(t, err)
				if e := list[0]; string(e.Decision) != "question "+id || e.Proof != "proof "+id {
					t.Errorf("the texts of call %s are %q and %q", id, e.Decision, e.Proof)
				}
			}
			must(t, s.Close())
			if _, err := sqlstore.Verify(t.Context(), place); err != nil {
				t.Error(err)
			}
		})
	}
}
