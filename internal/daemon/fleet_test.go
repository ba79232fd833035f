package daemon_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/pat/keys"
)

// status returns the response of the gateway to uimgate status.
func (g *gate) status(t *testing.T) (s status.Status) {
	t.Helper()
	got := g.adminDo("GET", "/admin/v1/status", nil)
	if err := json.Unmarshal(got.body, &s); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	return s
}

// signsAnew waits until the gateway reports that it signs with a key other than before.
func (g *gate) signsAnew(t *testing.T, before keys.ID) keys.ID {
	t.Helper()
	for {
		if now := g.status(t).SigningKey; now != before || t.Context().Err() != nil {
			return now
		}
		waitABit(t)
	}
}

// listsSigner reports whether a gateway lists the key with which a process signs PATs, as a key that is in use.
func (g *gate) listsSigner(t *testing.T, of status.Status) bool {
	t.Helper()
	var list api.Page[agreements.Key]
	if err := json.Unmarshal(g.adminDo("GET", "/admin/v1/keys", nil).body, &list); err != nil {
		t.Fatal(err)
	}
	return of.Process != "" && slices.ContainsFunc(list.Items, func(k agreements.Key) bool {
		return k.ID == of.SigningKey && k.Process == of.Process && k.NotAfter.IsZero() && k.Signing
	})
}

// One command makes every process sign with a new key. A process that did not run creates one when it starts.
func TestKeysOfAFleet(t *testing.T) {
	t.Parallel()
	dsn := migrated.Copy(t)
	gates := []*gate{onPostgres(t, dsn, 0), onPostgres(t, dsn, 0), onPostgres(t, dsn, 0)}
	before := make([]keys.ID, len(gates))
	for i, g := range gates {
		before[i] = g.status(t).SigningKey
	}
	down := gates[2]
	old := gates[1].newAgent("agent-1").agree()
	down.stop()
	for range 2 { // twice within a second
		if got := gates[0].adminDo("POST", "/admin/v1/keys/rotate", map[string]any{"all": true}); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
	}
	gates[1].signsAnew(t, before[1])
	if got := old.at(gates[0]).execute(details, map[string]any{"id": "p"}, nil); got.status != http.StatusOK {
		t.Errorf("a PAT from before the rotation: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	back := startGate(t, setup{
		config: "store: ${file:store.url}\n" + testConfig, files: map[string]string{"store.url": dsn + "\n"}, dir: down.dir,
	})
	gates[2] = back
	if got := back.status(t).SigningKey; got == before[2] {
		t.Errorf("the process that did not run signs with %s, which was rotated", got)
	}

	for _, g := range gates {
		for !gates[0].listsSigner(t, g.status(t)) && t.Context().Err() == nil { // another process lists a new key within a second
			waitABit(t)
		}
	}

	leaked := gates[1].status(t).SigningKey
	agent := gates[1].newAgent("agent-2").agree()
	if got := gates[0].adminDo("POST", "/admin/v1/keys/"+string(leaked)+"/retire", nil); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	gates[1].signsAnew(t, leaked)
	for _, g := range gates {
		until(t, http.StatusUnauthorized, func() answer { return agent.at(g).execute(details, map[string]any{"id": "p"}, nil) })
	}
	agent.agree()
	for _, g := range gates {
		until(t, http.StatusOK, func() answer { return agent.at(g).execute(details, map[string]any{"id": "p"}, nil) })
	}
	now := []keys.ID{gates[0].status(t).SigningKey, gates[1].status(t).SigningKey, back.status(t).SigningKey}
	if got := gates[2].adminDo("POST", "/admin/v1/keys/retire", nil); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	for i, g := range gates {
		g.signsAnew(t, now[i])
		until(t, http.StatusUnauthorized, func() answer { return agent.at(g).execute(details, map[string]any{"id": "p"}, nil) })
	}
}
