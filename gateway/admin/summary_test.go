package admin_test

import (
	"slices"
	"testing"
)

func TestSummaryReadsNoAccounts(t *testing.T) {
	g := newAdminGate(t, smallCredit)
	full, err := g.operator.Statuses.Status(t.Context())
	g.Must(err)
	summary, local := g.operator.Statuses.Summary(t.Context()), g.operator.Statuses.LocalStatus(t.Context())
	want, other := full.Services[0], []any{summary.Services[0].Newcomers, local.Services[0].Newcomers}
	if want.Newcomers == nil || summary.Services[0].Newcomers != nil || local.Services[0].Newcomers != nil {
		t.Errorf("Newcomers: %+v, others %+v; want only that of Status", want.Newcomers, other)
	}
	if s := summary.Services[0]; s.WaitingAgents == nil || *s.WaitingAgents != 0 || s.Unresolved == nil || *s.Unresolved != 0 {
		t.Errorf("Summary: %v waiting agents, %v unresolved charges; want 0", s.WaitingAgents, s.Unresolved)
	}
	if s := local.Services[0]; s.WaitingAgents != nil || s.Unresolved != nil || s.ID != want.ID || len(s.Doors) != len(want.Doors) {
		t.Errorf("LocalStatus: %+v; want no figures of the store, and the rest of %+v", s, want)
	}
	g.Must(g.Store.Close())
	if s := g.operator.Statuses.Summary(t.Context()).Services[0]; !slices.Equal(s.Unread, []string{"waiting_agents", "unresolved_charges"}) {
		t.Errorf("Summary of a closed store has Unread %v; want its own figures", s.Unread)
	}
	if s := g.operator.Statuses.LocalStatus(t.Context()).Services[0]; len(s.Unread) != 0 {
		t.Errorf("LocalStatus of a closed store has Unread %v; want none", s.Unread)
	}
}
