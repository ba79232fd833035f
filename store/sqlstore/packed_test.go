package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
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

// The texts of charges remain readable if the service gets another id.
func TestTextsOfAMovedServiceAreRead(t *testing.T) {
	t.Parallel()
	for _, at := range places {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			place := at.at(t)
			s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now, Services: served(store.Service{ID: "shop", Issuer: "i"})})
			must(t, err)
			question, proof := `{"request":{"party":"agent-1","target":"i:buy:v1"},"in":"shop"}`, "eyJhIjoiYWdlbnQtMSJ9.eyJhdWQiOiJzaG9wIn0.c2ln"
			pack := store.EvidenceText{Proof: proof, Asked: []byte(question)}
			admission, err := s.Begin(t.Context(), store.BeginRequest{
				Execution: store.Execution{
					ID: "1", Service: "shop", AgentID: "agent-1", Intent: "i:buy:v1", Evidence: &store.Evidence{
						Proof: evidence.Digest([]byte(proof)), Decision: evidence.Digest([]byte(question)), Text: &pack,
					},
				},
				Candidates: []store.Candidate{{Rule: "r", Charge: money.Amount{Nano: 3, Currency: "USD"}}},
				Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}}, Hold: time.Minute,
			})
			must(t, err)
			_, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
			must(t, err)
			must(t, s.Close())
			moving := served(store.Service{ID: "new", Issuer: "i", Formerly: "shop"})
			s, err = sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now, Services: moving})
			must(t, err)
			list, err := s.Entries(t.Context(), store.EntryFilter{Service: "new", AgentID: "agent-1", Currency: "USD", After: -1, Evidence: true})
			must(t, err)
			if e := list[0]; string(e.Decision) != question || e.Proof != proof {
				t.Errorf("the texts are %q and %q", e.Decision, e.Proof)
			}
			must(t, s.Close())
			if _, err := sqlstore.Verify(t.Context(), place); err != nil {
				t.Error(err)
			}
		})
	}
}
