package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func testChanges(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"nothing has changed yet":              noChanges,
		"every change is listed in order":      changesInOrder,
		"the number 0 lists what is in force":  changesFromZero,
		"a revocation is only extended":        revocationsGrow,
		"a token is revoked once":              tokenRevokedOnce,
		"a token is revoked once, by many":     tokenRevokedOnceByMany,
		"a revocation covers what was issued":  revocationCovers,
		"signing keys":                         signingKeys,
		"an unknown number lists all changes":  changesFromBeyond,
		"an invalid revocation is refused":     invalidRevocation,
		"processes read each other's changes":  changesAcross,
		"the end of a renewed token is listed": renewalChanges,
		"stops begin and end":                  stopsAndResumes,
		"stops across processes":               stopsAcross,
	})
}

func (b *suite) changes(seq int64) ([]string, int64) {
	b.Helper()
	list, newest, err := b.Changes(b.Context(), seq)
	b.must(err)
	var out []string
	for i, c := range list {
		if i > 0 && c.Seq <= list[i-1].Seq || c.Seq > newest {
			b.Fatalf("out of order: %+v", list)
		}
		switch {
		case c.Revocation != nil:
			out = append(out, fmt.Sprintf("revoked %s %s", c.Revocation.Kind, c.Revocation.Subject))
		case c.Agent != nil:
			out = append(out, fmt.Sprintf("%s %s %v", c.Agent.Status, c.Agent.ID, c.Agent.Keys))
		case c.Stop != nil:
			out = append(out, fmt.Sprintf("stop %s %s %v", c.Stop.Kind, c.Stop.Subject, c.Stop.EndedAt.IsZero()))
		case c.Key != nil:
			out = append(out, string("key "+c.Key.ID))
		}
	}
	return out, newest
}

func (b *suite) wantChanges(seq int64, want ...string) int64 {
	b.Helper()
	got, newest := b.changes(seq)
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	return newest
}

func (b *suite) revoke(kind pat.RevocationKind, subject string) {
	b.Helper()
	now := b.clock.Now()
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: kind, Subject: subject, At: now, Until: now.Add(time.Hour), Reason: "because"}))
}

func (b *suite) setAgent(status pat.AgentStatus) {
	b.Helper()
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: status, Reason: "reason"}))
}

func noChanges(b *suite) {
	if newest := b.wantChanges(0); newest != 0 {
		b.Fatalf("got %v, want 0", newest)
	}
	b.agree(b.agreement("n")) // a new agent is active by default: no change
	b.wantChanges(0)
}

func changesInOrder(b *suite) {
	b.agree(b.agreement("n"))
	b.revoke(pat.RevokedToken, "jti-1")
	seq := b.wantChanges(0, "revoked token jti-1")
	b.wantChanges(seq)
	b.setAgent(pat.AgentBlocked)
	b.revoke(pat.RevokedPolicy, "sha-256:x")
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "kid", Algorithm: "EdDSA", JWK: []byte("{}"), CreatedAt: start}))
	middle := b.wantChanges(seq, "blocked agent-1 [key-1]", "revoked policy sha-256:x", "key kid")
	b.setAgent(pat.AgentActive)
	now := b.clock.Now()
	b.must(b.Revoke(b.Context(), pat.Revocation{ // the second revocation lasts longer
		Service: service, Kind: pat.RevokedToken, Subject: "jti-1", At: now, Until: now.Add(2 * time.Hour), Reason: "because",
	}))
	b.wantChanges(middle, "active agent-1 [key-1]", "revoked token jti-1")
	newest := b.wantChanges(seq, "revoked policy sha-256:x", "key kid", "active agent-1 [key-1]", "revoked token jti-1")
	b.revoke(pat.RevokedAgent, agent)
	b.reopen()
	b.wantChanges(newest, "revoked agent agent-1", "blocked agent-1 [key-1]")
}

func tokenRevokedOnce(b *suite) {
	made := b.agree(b.agreement("n"))
	for _, c := range []struct {
		kind    pat.RevocationKind
		subject string
		want    int64
	}{{pat.RevokedToken, "jti-1", 1}, {pat.RevokedAgreement, string(made.ID), 2}} {
		for range 30 {
			b.revoke(c.kind, c.subject)
			b.clock.Advance(time.Second)
		}
		if newest := b.wantChanges(c.want-1, fmt.Sprintf("revoked %s %s", c.kind, c.subject)); newest != c.want {
			b.Errorf("%d changes were written, want %d", newest, c.want)
		}
	}
}

// tokenRevokedOnceByMany revokes one token from several goroutines at once, and checks that this is one change.
func tokenRevokedOnceByMany(b *suite) {
	now := b.clock.Now()
	errs := make([]error, 30)
	var group sync.WaitGroup
	for n := range errs {
		group.Go(func() {
			errs[n] = b.Revoke(b.Context(),
				pat.Revocation{Service: service, Kind: pat.RevokedToken, Subject: "jti-1", At: now, Until: now.Add(time.Hour), Reason: "because"})
		})
	}
	group.Wait()
	b.must(errors.Join(errs...))
	if newest := b.wantChanges(0, "revoked token jti-1"); newest != 1 {
		b.Errorf("%d changes were written, want 1", newest)
	}
}

func changesFromZero(b *suite) {
	b.agree(b.agreement("n"))
	b.revoke(pat.RevokedToken, "early")
	b.clock.Advance(30 * time.Minute)
	b.revoke(pat.RevokedToken, "late")
	b.setAgent(pat.AgentBlocked)
	b.setAgent(pat.AgentActive)
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "old", CreatedAt: start, NotAfter: start.Add(45 * time.Minute)}))
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "new", CreatedAt: start}))
	b.wantChanges(0, "revoked token early", "revoked token late", "key old", "key new")
	b.clock.Advance(30 * time.Minute)
	b.wantChanges(0, "revoked token late", "key new")
	b.setAgent(pat.AgentBlocked)
	b.wantChanges(0, "revoked token late", "key new", "blocked agent-1 [key-1]")
}

func revocationsGrow(b *suite) {
	r := pat.Revocation{Service: service, Kind: pat.RevokedPolicy, Subject: "d", At: start, Until: start.Add(time.Hour), Reason: "first"}
	b.must(b.Revoke(b.Context(), r))
	r.At, r.Until, r.Reason = start.Add(-time.Hour), start.Add(-time.Minute), "second"
	b.must(b.Revoke(b.Context(), r))
	list, _, err := b.Changes(b.Context(), 0)
	b.must(err)
	r.At, r.Until = start, start.Add(time.Hour)
	if d := cmp.Diff([]pat.Change{{Seq: 2, Revocation: &r}}, list); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	_, err = b.Agent(b.Context(), service, agent)
	b.want(err, pat.ErrNotFound)
	b.revoke(pat.RevokedAgent, agent)
	if who, err := b.Agent(b.Context(), service, agent); err != nil || who.Status != pat.AgentBlocked || who.Reason != "because" {
		b.Fatalf("got %+v, %v; want no error, Status %v and Reason %q", who, err, pat.AgentBlocked, "because")
	}
}

// revocationCovers checks that a revocation ends PATs that another process issued with a fast clock, and that a PAT issued afterwards is
// late enough to be valid.
func revocationCovers(b *suite) {
	for i, kind := range []pat.RevocationKind{pat.RevokedAgent, pat.RevokedPolicy} {
		a := b.agree(b.agreement(fmt.Sprint(i)))
		k := b.token(a)
		k.IssuedAt = k.IssuedAt.Add(5 * time.Second)
		b.must(b.Issue(b.Context(), k))
		subject := map[pat.RevocationKind]string{pat.RevokedAgent: agent, pat.RevokedPolicy: a.PolicyDigest}[kind]
		b.revoke(kind, subject)
		b.setAgent(pat.AgentActive)
		list, _, err := b.Changes(b.Context(), 0)
		b.must(err)
		for _, c := range list {
			if r := c.Revocation; r != nil && r.Kind == kind && !r.At.Equal(k.IssuedAt) {
				b.Errorf("%s: ends PATs issued up to %s, but not the PAT of %s", kind, r.At, k.IssuedAt)
			}
		}
		late := b.token(a)
		late.IssuedAt = k.IssuedAt
		b.want(b.Issue(b.Context(), late), pat.ErrEnded)
		late.IssuedAt = k.IssuedAt.Add(time.Second)
		b.must(b.Issue(b.Context(), late))
		b.clock.Advance(time.Minute)
	}
}

func signingKeys(b *suite) {
	k := keys.SigningKey{ID: "kid", Algorithm: "EdDSA", JWK: []byte(`{"kty":"OKP"}`), CreatedAt: start}
	b.must(b.AddSigningKey(b.Context(), k))
	other := k
	other.ID, other.CreatedAt, other.NotAfter = "older", start.Add(-time.Hour), start.Add(time.Minute)
	b.must(b.AddSigningKey(b.Context(), other))
	expect := func(now time.Time, want ...keys.SigningKey) {
		b.Helper()
		got, err := b.SigningKeys(b.Context(), now)
		b.must(err)
		if d := cmp.Diff(want, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	expect(start, other, k)
	expect(start.Add(time.Minute), k)
	k.NotAfter = start.Add(2 * time.Minute)
	b.must(b.AddSigningKey(b.Context(), k))
	expect(start.Add(time.Minute), k)
	expect(start.Add(2 * time.Minute))
	// A key never ends later than the end that was set first, because it may have leaked.
	for _, again := range []time.Time{{}, start.Add(time.Hour), start.Add(2 * time.Minute)} {
		k := k
		k.NotAfter = again
		b.must(b.AddSigningKey(b.Context(), k))
		expect(start.Add(time.Minute), keys.SigningKey{
			ID: "kid", Algorithm: k.Algorithm, JWK: k.JWK, CreatedAt: start, NotAfter: start.Add(2 * time.Minute),
		})
	}
	k.Process = "host-1:/data"
	b.must(b.AddSigningKey(b.Context(), k))
	expect(start.Add(time.Minute), k)
	changes, _, err := b.Changes(b.Context(), 1)
	b.must(err)
	for _, c := range changes {
		if c.Key != nil && c.Key.ID == "kid" && c.Key.Process != k.Process {
			b.Fatalf("got %+v; want Process %q", c.Key, k.Process)
		}
	}
}

func changesFromBeyond(b *suite) {
	b.revoke(pat.RevokedToken, "jti")
	for _, seq := range []int64{-1, 99} {
		if newest := b.wantChanges(seq, "revoked token jti"); newest != 1 {
			b.Fatalf("got %v, want 1", newest)
		}
	}
}

func invalidRevocation(b *suite) {
	if err := b.Revoke(b.Context(), pat.Revocation{Service: service, Kind: "everything", Subject: "x"}); err == nil {
		b.Fatal("accepted")
	}
	b.wantChanges(0)
}

func changesAcross(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	b.must(other.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedToken, Subject: "there", At: start, Until: start.Add(time.Hour)}))
	seq := b.wantChanges(0, "revoked token there")
	b.revoke(pat.RevokedToken, "here")
	b.wantChanges(seq, "revoked token here")
}

// renewalChanges checks that the end of a renewed token is a change, so that every process reads it, even after a restart.
func renewalChanges(b *suite) {
	a := b.agree(b.agreement("n"))
	old := b.issue(a)
	_, before := b.changes(0)
	now := b.clock.Now()
	_, err := b.Renew(b.Context(), pat.Renewal{Old: old.ID, Next: b.token(a), Ends: now.Add(time.Minute), RepeatSince: now.Add(-time.Minute)})
	b.must(err)
	for _, seq := range []int64{before, 0} {
		list, _, err := b.Changes(b.Context(), seq)
		b.must(err)
		found := false
		for _, c := range list {
			if r := c.Revocation; r != nil && r.Kind == pat.RevokedRenewed {
				found = r.Subject == string(old.ID) && r.At.Equal(now.Add(time.Minute)) && !r.Until.Before(old.ExpiresAt)
			}
		}
		if !found {
			b.Errorf("from %d: the end of %s is not among %+v", seq, old.ID, list)
		}
	}
}

func (b *suite) stopped(s pat.Stop) pat.Stop {
	b.Helper()
	made, err := b.Stop(b.Context(), s)
	b.must(err)
	return made
}

// stopsAndResumes records a stop, ends it, and records it again. It checks that repeated steps change nothing, and that the feed of changes
// has every step.
func stopsAndResumes(b *suite) {
	agentStop := pat.Stop{Service: service, Kind: pat.StopAgent, Subject: agent, Reason: "loop", By: "ann"}
	made := b.stopped(agentStop)
	if made.At.IsZero() || made.By != "ann" {
		b.Errorf("got %+v", made)
	}
	b.clock.Advance(time.Minute)
	if again := b.stopped(pat.Stop{Service: service, Kind: pat.StopAgent, Subject: agent, By: "bob"}); again != made {
		b.Errorf("a stop in force was changed: %+v; want %+v", again, made)
	}
	b.stopped(pat.Stop{Kind: pat.StopCharging, By: "ann"})
	b.reopen()
	seq := b.wantChanges(0, "stop agent agent-1 true", "stop charging  true")
	agentStop.EndedBy = "bob"
	ended, err := b.Resume(b.Context(), agentStop)
	b.must(err)
	if !ended.EndedAt.Equal(b.clock.Now()) || ended.EndedBy != "bob" || ended.Reason != "loop" {
		b.Errorf("got %+v", ended)
	}
	seq = b.wantChanges(seq, "stop agent agent-1 false")
	b.wantChanges(0, "stop charging  true")
	list, err := b.Stops(b.Context())
	b.must(err)
	if len(list) != 1 || list[0].Kind != pat.StopCharging {
		b.Errorf("in force: %+v", list)
	}
	_, err = b.Resume(b.Context(), agentStop)
	b.want(err, store.ErrNotFound)
	b.stopped(agentStop)
	b.wantChanges(seq, "stop agent agent-1 true")
	for _, wrong := range []pat.Stop{{Kind: "everything"}, {Kind: pat.StopAgent}, {Kind: pat.StopCharging, Subject: "x"}} {
		if _, err := b.Stop(b.Context(), wrong); err == nil {
			b.Errorf("%+v was recorded", wrong)
		}
	}
}

// stopsAcross checks that one process reads the stops of another, and that a record is deleted only long after the stop has ended.
func stopsAcross(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	door := pat.Stop{Kind: pat.StopDoor, Subject: "mcp", By: "ann"}
	_, err := other.Stop(b.Context(), door)
	b.must(err)
	seq := b.wantChanges(0, "stop door mcp true")
	b.clock.Advance(60 * 24 * time.Hour)
	_, err = b.Purge(b.Context())
	b.must(err)
	_, err = b.Resume(b.Context(), door)
	b.must(err)
	_, err = b.Purge(b.Context())
	b.must(err)
	b.wantChanges(seq, "stop door mcp false")
	b.clock.Advance(31 * 24 * time.Hour)
	_, err = b.Purge(b.Context())
	b.must(err)
	b.wantChanges(seq)
}
