package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func testAgreements(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"the evidence is stored unchanged":          evidenceRoundTrip,
		"one id, one key; one key, one id":          idsAndKeys,
		"a nonce is used once":                      agreementNonces,
		"static agreements are made once":           staticOnce,
		"static agreements claim separately":        staticApart,
		"implied agreements are made once":          impliedOnce,
		"implied agreements take no id":             impliedTakesNoID,
		"an implied agreement ends with its agent":  impliedAfterRevocation,
		"an unblocked id can be claimed":            unblockedID,
		"a reserved id is taken over":               reservedID,
		"a consent claims an id without a key":      consentWithoutKey,
		"a pending agreement can be repeated":       pendingAgain,
		"a blocked agent cannot agree":              blockedCannotAgree,
		"an existing agent keeps its status":        agentKeepsStatus,
		"a new key can be added by the operator":    operatorAddsKey,
		"a failed agreement leaves nothing behind":  failedAgreement,
		"an agreement ends those of another plan":   planEndsPlan,
		"no call begins under an ended plan":        endedPlanBeginsNothing,
		"a change of the plan is one change":        changeOfPlanIsOneChange,
		"a change of the plan ends many agreements": manyAgreementsOfPlan,
		"a plan in advance ends others on its date": planInAdvance,
		"a carried limit counts and never refuses":  carriedLimits,
		"a carried limit keeps the grant":           carriedLimitsKeepTheGrant,
	})
}

func evidenceRoundTrip(b *suite) {
	a, p := b.agreement("nonce-1")
	a.CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	if d := cmp.Diff(a, b.agree(a, p)); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	bare, _ := b.agreement("")
	bare.Assurance, bare.Signed, bare.Scope, bare.Signature = pat.Static, nil, nil, []byte{0, 255}
	b.agree(bare, p)
	b.reopen()
	for _, want := range []pat.Agreement{a, bare} {
		got, err := b.Agreement(b.Context(), service, want.ID)
		b.must(err)
		if d := cmp.Diff(want, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	got, err := b.Policy(b.Context(), service, p.Digest)
	b.must(err)
	if d := cmp.Diff(p, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	who, err := b.Agent(b.Context(), service, agent)
	b.must(err)
	if d := cmp.Diff(pat.Agent{Service: service, ID: agent, Status: pat.AgentActive, Keys: []keys.ID{"key-1"}, CreatedAt: start},
		who); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	_, err = b.Agreement(b.Context(), "another", a.ID)
	b.want(err, pat.ErrNotFound)
	_, err = b.Policy(b.Context(), "another", p.Digest)
	b.want(err, pat.ErrNotFound)
	_, err = b.Agent(b.Context(), "another", agent)
	b.want(err, pat.ErrNotFound)
}

// tryAgree makes an agreement for a given agent and key.
func (b *suite) tryAgree(agentID pat.AgentID, keyID keys.ID, nonce string) error {
	a, p := b.agreement(nonce)
	a.AgentID, a.KeyID = agentID, keyID
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, NonceUntil: b.clock.Now().Add(time.Hour)})
	return err
}

// tryStatic is like tryAgree, with a static agreement.
func (b *suite) tryStatic(agentID pat.AgentID, keyID keys.ID) error {
	a, p := b.agreement("")
	a.Assurance, a.AgentID, a.KeyID, a.Signature = pat.Static, agentID, keyID, []byte(b.id())
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p})
	return err
}

// unblockedID blocks an id before any agent has it, and unblocks it.
func unblockedID(b *suite) {
	b.must(b.Revoke(b.Context(), pat.Revocation{
		Service: service, Kind: pat.RevokedAgent, Subject: "x", At: start.Add(-time.Second), Until: start.Add(long),
	}))
	b.want(b.tryAgree("x", "key-x", "n1"), pat.ErrAgentIDTaken)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "x", Status: pat.AgentActive}))
	b.must(b.tryAgree("x", "key-x", "n1"))
	b.want(b.tryAgree("x", "key-y", "n2"), pat.ErrAgentIDTaken)
	who, err := b.Agent(b.Context(), service, "x")
	b.must(err)
	if who.Approved || !slices.Equal(who.Keys, []keys.ID{"key-x"}) {
		b.Fatalf("got %+v", who)
	}
}

// reservedID lets a stranger claim an id first, and then two keys for which the id is reserved.
func reservedID(b *suite) {
	a, p := b.agreement("n1")
	a.AgentID, a.KeyID = "x", "key-stranger"
	stranger := b.agree(a, p)
	token := b.token(stranger)
	b.must(b.Issue(b.Context(), token))
	reserve := func(key keys.ID, nonce string) (pat.Agreement, error) {
		a.ID, a.KeyID, a.Nonce = pat.AgreementID(b.id()), key, nonce
		return b.Agree(b.Context(), pat.NewAgreement{
			Agreement: a, Policy: p, NonceUntil: start.Add(time.Hour), Reserved: []keys.ID{"key-1", "key-2"},
		})
	}
	_, err := reserve("key-1", "n2")
	b.must(err)
	_, newest, err := b.Changes(b.Context(), 0)
	b.must(err)
	_, err = reserve("key-2", "n3")
	b.must(err)
	if _, after, err := b.Changes(b.Context(), 0); err != nil || after != newest {
		b.Errorf("a second reserved key revokes: %d, %d, %v", newest, after, err)
	}
	who, err := b.Agent(b.Context(), service, "x")
	b.must(err)
	if !slices.Equal(who.Keys, []keys.ID{"key-1", "key-2"}) || who.Status != pat.AgentActive {
		b.Errorf("got %+v; want Keys %+v and Status %v", who, []keys.ID{"key-1", "key-2"}, pat.AgentActive)
	}
	if got, err := b.Agreement(b.Context(), service, stranger.ID); err != nil || got.State != pat.AgreementRevoked {
		b.Errorf("the stranger's agreement: %+v, %v; want no error and State %v", got, err, pat.AgreementRevoked)
	}
	b.equal(b.tokens(store.TokenFilter{Service: service, AgentID: "x", ValidAt: b.clock.Now()}), []pat.TokenID{})
	b.want(b.tryAgree("x", "key-stranger", "n4"), pat.ErrAgentIDTaken)
	b.must(b.tryAgree("y", "key-stranger", "n4")) // under another id
	holders, err := b.Holders(b.Context(), service, []pat.AgentID{"nobody", "x"})
	b.must(err)
	if len(holders) != 1 || holders[0].ID != "x" || len(holders[0].Keys) != 2 {
		b.Errorf("got %+v; want length 1, [0].ID %q and [0].Keys of length 2", holders, "x")
	}
}

// consentWithoutKey checks that each consent is a separate agent, which the operator can approve and block.
func consentWithoutKey(b *suite) {
	for _, id := range []pat.AgentID{"mcp.1", "mcp.2"} {
		a, p := b.agreement("jti of " + string(id))
		a.Assurance, a.AgentID, a.KeyID, a.State = pat.Consent, id, "", pat.AgreementPending
		b.agree(a, p)
		k := b.token(a)
		b.want(b.Issue(b.Context(), k), pat.ErrBlocked)
		b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: id, Approved: true}))
		b.must(b.Issue(b.Context(), k))
		got, err := b.Agreement(b.Context(), service, a.ID)
		b.must(err)
		a.State = pat.AgreementActive
		if d := cmp.Diff(a, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
		a.ID, a.Nonce = pat.AgreementID(b.id()), "another jti of "+string(id)
		_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, NonceUntil: start.Add(time.Hour)})
		b.want(err, pat.ErrAgentIDTaken)
		b.want(b.tryAgree(id, "key-x", "n"), pat.ErrAgentIDTaken)
	}
	b.must(b.Revoke(b.Context(), pat.Revocation{
		Service: service, Kind: pat.RevokedAgent, Subject: "mcp.1", At: b.clock.Now(), Until: start.Add(long),
	}))
	who, err := b.Agent(b.Context(), service, "mcp.1")
	b.must(err)
	if who.Status != pat.AgentBlocked || who.Keys != nil {
		b.Fatalf("got %+v; want Status %v and Keys nil", who, pat.AgentBlocked)
	}
}

func idsAndKeys(b *suite) {
	b.must(b.tryAgree("x", "key-x", "n1"))
	b.must(b.tryAgree("y", "key-y", "n1")) // nonces belong to keys
	b.must(b.tryAgree("x", "key-x", "n2"))
	b.want(b.tryAgree("x", "key-z", "n3"), pat.ErrAgentIDTaken)
	b.want(b.tryAgree("z", "key-x", "n3"), pat.ErrKeyTaken)
	b.want(b.tryAgree("y", "key-x", "n3"), pat.ErrKeyTaken)
	b.must(b.tryAgree("x", "key-x", "n3")) // the failed agreement used no nonce
	a, p := b.agreement("n1")
	a.Service, p.Service, a.AgentID, a.KeyID = "another", "another", "z", "key-x"
	b.agree(a, p)
}

func agreementNonces(b *suite) {
	a, p := b.agreement("n")
	b.agree(a, p)
	a.ID = pat.AgreementID(b.id())
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, NonceUntil: start.Add(time.Hour)})
	b.want(err, pat.ErrReplayed)
	b.clock.Advance(40 * 24 * time.Hour)
	b.issue(a0(b, a))
	_, err = b.Purge(b.Context())
	b.must(err)
	_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, NonceUntil: start.Add(time.Hour)})
	b.want(err, pat.ErrReplayed) // the agreement itself has used its nonce
}

// a0 returns the first agreement of a suite.
func a0(b *suite, a pat.Agreement) pat.Agreement {
	a.ID = "01900000-0000-7000-8000-000000000001"
	got, err := b.Agreement(b.Context(), service, a.ID)
	b.must(err)
	return got
}

func staticOnce(b *suite) {
	a, p := b.agreement("")
	a.Assurance = pat.Static
	first := b.agree(a, p)
	again := a
	again.ID = pat.AgreementID(b.id())
	if got := b.agree(again, p); got.ID != first.ID {
		b.Fatalf("the agreement was stored twice: %+v", got)
	}
	other := again
	other.Signature = []byte("another")
	if got := b.agree(other, p); got.ID != other.ID {
		b.Fatalf("another signature: %+v, want ID %v", got, other.ID)
	}
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedAgreement, Subject: string(first.ID), At: start, Until: start.Add(time.Hour)}))
	for _, signature := range []string{string(a.Signature), "one more"} { // for some keys anyone can compute another valid signature
		again.ID, again.Signature = pat.AgreementID(b.id()), []byte(signature)
		_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: again, Policy: p})
		b.want(err, pat.ErrReplayed)
	}
	if got, err := b.Agreement(b.Context(), service, first.ID); err != nil || got.State != pat.AgreementRevoked {
		b.Fatalf("got %+v, %v; want no error and State %v", got, err, pat.AgreementRevoked)
	}
}

func pendingAgain(b *suite) {
	a, p := b.agreement("n")
	a.State = pat.AgreementPending
	b.agree(a, p)
	again := a
	again.ID = pat.AgreementID(b.id())
	if got := b.agree(again, p); got.ID != a.ID || got.State != pat.AgreementPending {
		b.Fatalf("got %+v; want ID %v and State %v", got, a.ID, pat.AgreementPending)
	}
	b.want(b.Issue(b.Context(), b.token(a)), pat.ErrBlocked)
	forged := again
	forged.Signature = []byte("another body")
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: forged, Policy: p, NonceUntil: start.Add(time.Hour)})
	b.want(err, pat.ErrReplayed)

	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Approved: true}))
	got := b.agree(again, p)
	if got.ID != a.ID || got.State != pat.AgreementActive {
		b.Fatalf("approved: %+v; want ID %v and State %v", got, a.ID, pat.AgreementActive)
	}
	b.issue(got)
	_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: again, Policy: p, NonceUntil: start.Add(time.Hour)})
	b.want(err, pat.ErrReplayed) // an agreement gives one PAT
}

func blockedCannotAgree(b *suite) {
	b.must(b.tryAgree(agent, "key-1", "n1"))
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentBlocked, Reason: "spam"}))
	b.want(b.tryAgree(agent, "key-1", "n2"), pat.ErrBlocked)
	b.want(b.tryAgree(agent, "key-2", "n2"), pat.ErrAgentIDTaken) // the error reveals nothing about the agent
	b.must(b.Revoke(b.Context(), pat.Revocation{Service: service, Kind: pat.RevokedAgent, Subject: "ghost", At: start, Until: start}))
	b.want(b.tryAgree("ghost", "key-3", "n3"), pat.ErrAgentIDTaken) // or about one that never agreed
	b.want(b.tryStatic("ghost", "key-3"), pat.ErrAgentIDTaken)
	b.must(b.tryStatic("robot", "key-r"))
	b.must(b.Revoke(b.Context(), pat.Revocation{Service: service, Kind: pat.RevokedAgent, Subject: "robot", At: start, Until: start}))
	b.want(b.tryStatic("robot", "key-r"), pat.ErrBlocked) // a static agreement recorded the key
	b.want(b.tryStatic("robot", "key-s"), pat.ErrAgentIDTaken)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentActive}))
	b.must(b.tryAgree(agent, "key-1", "n2"))
}

func agentKeepsStatus(b *suite) {
	a, p := b.agreement("n1")
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, Approved: true, NonceUntil: start.Add(time.Hour)})
	b.must(err)
	for _, approved := range []bool{false, true} {
		who, err := b.Agent(b.Context(), service, agent)
		b.must(err)
		if !who.Approved || who.Status != pat.AgentActive || !who.CreatedAt.Equal(start) {
			b.Fatalf("got %+v", who)
		}
		b.clock.Advance(time.Hour)
		a, p := b.agreement(b.id())
		_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, Approved: approved, NonceUntil: b.clock.Now()})
		b.must(err)
	}
}

func operatorAddsKey(b *suite) {
	b.must(b.tryAgree("x", "key-x", "n"))
	b.must(b.tryAgree("y", "key-y", "n"))
	b.want(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "nobody", Status: pat.AgentActive, Approved: true}), pat.ErrNotFound)
	b.want(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "x", Status: pat.AgentActive, Approved: true, AddKey: "key-y"}),
		pat.ErrKeyTaken)
	if who, err := b.Agent(b.Context(), service, "x"); err != nil || who.Approved {
		b.Fatalf("%+v, %v: a failed change was half applied", who, err)
	}
	for range 2 {
		b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "x", Status: pat.AgentActive, AddKey: "key-x2"}))
	}
	b.must(b.tryAgree("x", "key-x2", "n"))
	who, err := b.Agent(b.Context(), service, "x")
	b.must(err)
	if !cmp.Equal(who.Keys, []keys.ID{"key-x", "key-x2"}) {
		b.Fatalf("got %+v", who)
	}
}

func failedAgreement(b *suite) {
	b.must(b.tryAgree("x", "key-x", "n"))
	a, p := b.agreement("n") // used by that key
	a.AgentID, a.KeyID, a.ID = "x", "key-x", pat.AgreementID(b.id())
	p.Digest = digest("another")
	a.PolicyDigest = p.Digest
	_, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, Approved: true, NonceUntil: start})
	b.want(err, pat.ErrReplayed)
	_, err = b.Policy(b.Context(), service, p.Digest)
	b.want(err, pat.ErrNotFound)
	if who, err := b.Agent(b.Context(), service, "x"); err != nil || who.Approved {
		b.Fatalf("got %+v, %v", who, err)
	}
	_, err = b.Agreement(b.Context(), service, a.ID)
	b.want(err, pat.ErrNotFound)
}

// staticApart checks that static and fresh agreements claim ids and keys separately.
func staticApart(b *suite) {
	static, p := b.agreement("")
	static.Assurance = pat.Static
	b.issue(b.agree(static, p))
	got, err := b.Agent(b.Context(), service, agent+" static")
	b.must(err)
	if len(got.Keys) != 1 || got.Keys[0] != static.KeyID {
		b.Fatalf("got %+v; want Keys of length 1 and Keys[0] %v", got, static.KeyID)
	}
	_, err = b.Agent(b.Context(), service, agent)
	b.want(err, pat.ErrNotFound)
	thief := static
	thief.ID, thief.KeyID, thief.Signature = pat.AgreementID(b.id()), "key-t", []byte("of another key")
	_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: thief, Policy: p})
	b.want(err, pat.ErrAgentIDTaken)
	// Someone who saw the agreement sends it again under another id, with the same key.
	thief.KeyID, thief.AgentID = static.KeyID, "thief"
	_, err = b.Agree(b.Context(), pat.NewAgreement{Agreement: thief, Policy: p})
	b.want(err, pat.ErrKeyTaken)
	// A fresh agreement of another key claims the id, and ends the static agreement of the first key.
	fresh, _ := b.agreement("n")
	fresh.ID, fresh.KeyID = pat.AgreementID(b.id()), "key-f"
	b.agree(fresh, p)
	b.want(b.Issue(b.Context(), b.token(static)), pat.ErrBlocked)
	b.issue(fresh)
	// A fresh agreement of the same key does not affect static ones.
	own, p := b.agreement("")
	own.ID, own.Assurance, own.AgentID, own.KeyID = pat.AgreementID(b.id()), pat.Static, "agent-2", "key-2"
	b.agree(own, p)
	also, _ := b.agreement("m")
	also.ID, also.AgentID, also.KeyID = pat.AgreementID(b.id()), "agent-2", "key-2"
	b.agree(also, p)
	b.issue(own)
	// A block of the agent ends both kinds, and a block of the static principal ends only the static agreements.
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedAgent, Subject: "agent-2 static", At: start, Until: start.Add(time.Hour)}))
	b.want(b.Issue(b.Context(), b.token(own)), pat.ErrBlocked)
	b.clock.Advance(time.Second)
	b.issue(also)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "agent-2 static", Status: pat.AgentActive}))
	b.issue(own)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "agent-2", Status: pat.AgentBlocked}))
	b.want(b.Issue(b.Context(), b.token(own)), pat.ErrBlocked)
}
