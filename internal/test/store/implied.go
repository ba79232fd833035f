package storetest

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// implied returns an implied agreement of the agent with key-1. Each one has a different signature.
func (b *suite) implied() (pat.Agreement, pat.PolicyDocument) {
	a, p := b.agreement("")
	a.Assurance, a.Signed, a.Scope, a.Signature = pat.Implied, nil, []string{"a:b:v1:execute"}, []byte(b.id())
	return a, p
}

func impliedOnce(b *suite) {
	a, p := b.implied()
	a.State = pat.AgreementPending
	first := b.agree(a, p)
	again, _ := b.implied()
	if got := b.agree(again, p); got.ID != first.ID || got.State != pat.AgreementPending || string(got.Signature) != string(a.Signature) {
		b.Fatalf("another message: %+v, want the first agreement, pending", got)
	}
	b.want(b.Issue(b.Context(), b.token(first)), pat.ErrBlocked)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Approved: true}))
	got := b.agree(again, p)
	if got.ID != first.ID || got.State != pat.AgreementActive {
		b.Fatalf("approved: %+v, want ID %v and State %v", got, first.ID, pat.AgreementActive)
	}
	b.issue(got)
	if got := b.agree(again, p); got.ID != first.ID {
		b.Fatalf("after a PAT: %+v, want ID %v", got, first.ID)
	}
	wider, _ := b.implied()
	wider.Scope = append(wider.Scope, "a:c:v1:execute")
	if got := b.agree(wider, p); got.ID != wider.ID {
		b.Fatalf("another scope: %+v, want ID %v", got, wider.ID)
	}
	fresh, _ := b.agreement("nonce-1")
	if got := b.agree(fresh, p); got.ID != fresh.ID {
		b.Fatalf("a fresh agreement: %+v, want ID %v", got, fresh.ID)
	}
	b.must(b.Revoke(b.Context(), pat.Revocation{
		Service: service, Kind: pat.RevokedAgreement, Subject: string(first.ID), At: start, Until: start.Add(time.Hour),
	}))
	last, _ := b.implied()
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: last, Policy: p})
	b.want(err, pat.ErrReplayed)
	b.clock.Advance(long)
	_, err = b.Purge(b.Context())
	b.must(err)
	_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: last, Policy: p})
	b.want(err, pat.ErrReplayed) // a revoked agreement is not purged
}

func impliedTakesNoID(b *suite) {
	b.must(b.tryAgree("x", "key-x", "n1"))
	try := func(agentID pat.AgentID, keyID keys.ID) error {
		a, p := b.implied()
		a.AgentID, a.KeyID = agentID, keyID
		_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, Reserved: []keys.ID{keyID}})
		return err
	}
	b.want(try("x", "key-y"), pat.ErrAgentIDTaken) // although the id is reserved for the key
	b.want(try("y", "key-x"), pat.ErrKeyTaken)
	b.must(try("x", "key-x"))
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "x", Status: pat.AgentBlocked, Reason: "spam"}))
	b.want(try("x", "key-x"), pat.ErrBlocked)
	b.must(b.tryStatic("z", "key-z"))
	b.must(try("z", "key-other")) // it does not end the static agreement of another key
	if who, err := b.Agent(b.Context(), service, "z static"); err != nil || who.Status != pat.AgentActive {
		b.Errorf("the principal of static agreements: %+v, %v; want it active", who, err)
	}
}

// impliedAfterRevocation revokes the agent of an implied agreement, and then its policy. After each revocation, the agent needs another
// agreement.
func impliedAfterRevocation(b *suite) {
	a, p := b.implied()
	last := b.agree(a, p)
	for _, r := range []pat.Revocation{
		{Kind: pat.RevokedAgent, Subject: agent}, {Kind: pat.RevokedPolicy, Subject: p.Digest},
	} {
		r.Service, r.At, r.Until = service, b.clock.Now(), b.clock.Now().Add(time.Hour)
		b.must(b.Revoke(b.Context(), r))
		b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentActive}))
		b.clock.Advance(time.Second)
		next, _ := b.implied()
		next.CreatedAt = b.clock.Now()
		if got := b.agree(next, p); got.ID != next.ID {
			b.Fatalf("after a revocation of the %s: %+v, want ID %v", r.Kind, got, next.ID)
		}
		again, _ := b.implied()
		if got := b.agree(again, p); got.ID != next.ID || got.ID == last.ID {
			b.Fatalf("again, after a revocation of the %s: %+v, want ID %v", r.Kind, got, next.ID)
		}
		last = next
	}
}

// concurrentImplied makes implied agreements of one new agent at once, each with one repetition, as pat.Issuer does.
func concurrentImplied(b *suite) {
	var mu sync.Mutex
	made := map[pat.AgreementID]bool{}
	got := concurrently(b, 64, []Engine{b}, func(e Engine, _ int) error {
		mu.Lock()
		a, p := b.implied()
		mu.Unlock()
		kept, err := e.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p})
		if err != nil {
			kept, err = e.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p})
		}
		if err == nil {
			mu.Lock()
			made[kept.ID] = true
			mu.Unlock()
		}
		return err
	}, anyOf())
	if got != 64 || len(made) != 1 {
		b.Errorf("%d of 64 messages have an agreement, and there are %d agreements; want one", got, len(made))
	}
}
