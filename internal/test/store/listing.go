package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func testListings(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"agents are listed by id, with their keys":     listAgents,
		"agents wait until they are approved":          listWaiting,
		"agents have the names that they were given":   nameAgents,
		"agents are found by id and by name":           searchAgents,
		"agreements are listed without evidence":       listAgreements,
		"tokens are listed newest first":               listTokens,
		"agreements are listed by when they were made": listAgreementsMadeLast,
		"tokens show whether a revocation names them":  listRevokedTokens,
		"pages never overlap nor leave a gap":          listPages,
		"policies are listed in the order of offers":   recentPolicies,
		"an agreement keeps a policy without an offer": agreedPolicies,
	})
}

// claim creates an agent with its own key.
func (b *suite) claim(service string, agentID pat.AgentID) pat.Agreement {
	b.Helper()
	a, p := b.agreement("nonce-" + string(agentID))
	a.Service, p.Service, a.AgentID, a.KeyID = service, service, agentID, keys.ID("key-"+agentID)
	return b.agree(a, p)
}

func (b *suite) agents(f store.AgentFilter) []string {
	b.Helper()
	list, err := b.Agents(b.Context(), f)
	b.must(err)
	ids := []string{}
	for _, a := range list {
		ids = append(ids, string(a.ID))
	}
	return ids
}

// searchAgents finds agents by the beginning of their id or name, in pages.
func searchAgents(b *suite) {
	names := map[pat.AgentID]string{"acme-1": "", "acme-2": "Zebra", "b": "ACME Ltd", "c": "An acme", "acme": "Acme", "d": "Müller"}
	for id, name := range names {
		b.claim(service, id)
		b.must(b.NameAgent(b.Context(), service, id, name))
	}
	b.claim("other", "acme-3")
	for prefix, want := range map[string][]string{
		"acme": {"acme", "acme-1", "acme-2", "b"}, "Acme": {"acme", "b"}, "acme-": {"acme-1", "acme-2"}, "zeb": {"acme-2"}, "Mü": {"d"},
		"%": {}, "_": {}, "cme": {}, "é": {},
	} {
		got := []string{}
		for len(got) <= len(want) {
			page := b.agents(store.AgentFilter{Service: service, Prefix: prefix, After: pat.AgentID(last(got)), Limit: 2})
			got = append(got, page...)
			if len(page) < 2 {
				break
			}
		}
		b.equal(got, want)
	}
	b.equal(b.agents(store.AgentFilter{Service: service, Prefix: "acme", Status: pat.AgentBlocked}), []string{})
}

func (b *suite) equal(got, want any) {
	b.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
}

func nameAgents(b *suite) {
	all := []pat.AgentID{"a", "b", "c", "nobody"}
	for _, id := range all[:3] {
		b.claim(service, id)
	}
	b.claim("other", "a")
	for id, name := range map[pat.AgentID]string{"a": "Corner Shop GmbH & Co. KG", "b": "Müller, ООО «Ромашка» 株式会社"} {
		b.must(b.NameAgent(b.Context(), service, id, name))
	}
	names := func(service string, ids []pat.AgentID) map[pat.AgentID]string {
		b.Helper()
		got, err := b.AgentNames(b.Context(), service, ids)
		b.must(err)
		return got
	}
	b.equal(names(service, all), map[pat.AgentID]string{"a": "Corner Shop GmbH & Co. KG", "b": "Müller, ООО «Ромашка» 株式会社"})
	b.equal(names(service, all[1:]), map[pat.AgentID]string{"b": "Müller, ООО «Ромашка» 株式会社"})
	b.equal(names("other", all), map[pat.AgentID]string{})
	b.equal(names(service, nil), map[pat.AgentID]string{})
	if err := b.NameAgent(b.Context(), service, "nobody", "x"); !errors.Is(err, pat.ErrNotFound) {
		b.Errorf("a name for an unknown agent: %v, want %v", err, pat.ErrNotFound)
	}
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "a", Status: pat.AgentBlocked, Reason: "why not"}))
	b.must(b.NameAgent(b.Context(), service, "b", ""))
	b.equal(names(service, all), map[pat.AgentID]string{"a": "Corner Shop GmbH & Co. KG"})
}

func listAgents(b *suite) {
	for _, id := range []string{"b", "a", "d", "c"} {
		b.claim(service, pat.AgentID(id))
	}
	b.claim("other", "a2")
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "c", Status: pat.AgentActive, Approved: true, AddKey: "key-c2"}))
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedAgent, Subject: "b", At: start, Until: start.Add(time.Hour), Reason: "why"}))
	yes, no := true, false
	b.equal(b.agents(store.AgentFilter{Service: service}), []string{"a", "b", "c", "d"})
	b.equal(b.agents(store.AgentFilter{Service: service, Status: pat.AgentBlocked}), []string{"b"})
	b.equal(b.agents(store.AgentFilter{Service: service, Status: pat.AgentActive}), []string{"a", "c", "d"})
	b.equal(b.agents(store.AgentFilter{Service: service, Approved: &yes}), []string{"c"})
	b.equal(b.agents(store.AgentFilter{Service: service, Approved: &no, After: "a", Limit: 1}), []string{"b"})
	b.equal(b.agents(store.AgentFilter{Service: "nobody's"}), []string{})
	list, err := b.Agents(b.Context(), store.AgentFilter{Service: service, After: "a"})
	b.must(err)
	for _, got := range list {
		want, err := b.Agent(b.Context(), service, got.ID)
		b.must(err)
		b.equal(got, want)
	}
}

// listWaiting checks that an agent waits from its pending agreement until the operator approves or blocks it.
func listWaiting(b *suite) {
	b.claim(service, "active")
	for _, id := range []pat.AgentID{"y", "x", "z"} {
		for n := range 2 {
			a, p := b.agreement(fmt.Sprint("nonce-", id, n))
			a.AgentID, a.KeyID, a.State = id, keys.ID("key-"+id), pat.AgreementPending
			b.agree(a, p)
		}
	}
	waiting := func(want ...string) {
		b.Helper()
		b.equal(b.agents(store.AgentFilter{Service: service, Waiting: true}), want)
		got, err := b.Backlog(b.Context(), service)
		b.must(err)
		b.equal(got, store.Backlog{Waiting: int64(len(want))})
		for _, id := range []string{"active", "x", "y", "z"} {
			a, err := b.Agent(b.Context(), service, pat.AgentID(id))
			b.must(err)
			b.equal(a.Waiting, slices.Contains(want, id))
		}
	}
	waiting("x", "y", "z")
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "y", Status: pat.AgentActive, Approved: true}))
	waiting("x", "z")
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedAgent, Subject: "x", At: start, Until: start.Add(time.Hour), Reason: "why"}))
	waiting("z")
	b.equal(b.agents(store.AgentFilter{Service: service, Waiting: true, After: "z"}), []string{})
	other, err := b.Backlog(b.Context(), "other")
	b.must(err)
	b.equal(other, store.Backlog{})
}

func listAgreements(b *suite) {
	first, second := b.claim(service, "a"), b.claim(service, "b")
	b.claim("other", "a")
	third, p := b.agreement("nonce-3")
	third.AgentID, third.KeyID, third.State = "a", "key-a", pat.AgreementPending
	p.Digest, p.Bytes = digest("another"), []byte("{}")
	third.PolicyDigest = p.Digest
	third = b.agree(third, p)
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedAgreement, Subject: string(second.ID), At: start, Until: start.Add(time.Hour)}))
	second.State = pat.AgreementRevoked
	for name, c := range map[string]struct {
		filter store.AgreementFilter
		want   []pat.Agreement
	}{
		"of a service": {store.AgreementFilter{Service: service}, []pat.Agreement{third, second, first}},
		"of an agent":  {store.AgreementFilter{Service: service, AgentID: "a"}, []pat.Agreement{third, first}},
		"of a policy":  {store.AgreementFilter{Service: service, PolicyDigest: p.Digest}, []pat.Agreement{third}},
		"without one":  {store.AgreementFilter{Service: service, Without: first.PolicyDigest}, []pat.Agreement{second}},
		"pending":      {store.AgreementFilter{Service: service, State: pat.AgreementPending}, []pat.Agreement{third}},
		"revoked":      {store.AgreementFilter{Service: service, State: pat.AgreementRevoked}, []pat.Agreement{second}},
		"after one":    {store.AgreementFilter{Service: service, After: store.AgreementCursor(second)}, []pat.Agreement{first}},
		"none":         {store.AgreementFilter{Service: service, AgentID: "nobody"}, nil},
	} {
		got, err := b.Agreements(b.Context(), c.filter)
		b.must(err)
		for i := range c.want {
			c.want[i].PublicKey, c.want[i].Signed, c.want[i].Signature, c.want[i].Scope = nil, nil, nil, nil
		}
		if d := cmp.Diff(c.want, got); d != "" {
			b.Errorf("%s: %s", name, d)
		}
	}
}

// listAgreementsMadeLast checks that agreements are listed by arrival, because their ids contain a time that the agent chose.
func listAgreementsMadeLast(b *suite) {
	var want []pat.AgreementID
	for _, id := range []pat.AgreementID{
		"01a00000-0000-7000-8000-000000000002", "01a00000-0000-7000-8000-000000000003", "01a00000-0000-7000-8000-000000000001",
	} {
		a, p := b.agreement("nonce " + string(id))
		a.ID, a.CreatedAt = id, b.clock.Now()
		b.agree(a, p)
		b.clock.Advance(time.Second)
		want = append([]pat.AgreementID{id}, want...)
	}
	for name, f := range map[string]store.AgreementFilter{
		"of a service": {Service: service}, "of an agent": {Service: service, AgentID: agent}, "in pages": {Service: service, Limit: 1},
	} {
		var got []pat.AgreementID
		for len(got) < len(want) {
			page, err := b.Agreements(b.Context(), f)
			b.must(err)
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				got, f.After = append(got, a.ID), store.AgreementCursor(a)
			}
		}
		if !slices.Equal(got, want) {
			b.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func (b *suite) tokens(f store.TokenFilter) []pat.TokenID {
	b.Helper()
	list, err := b.Tokens(b.Context(), f)
	b.must(err)
	ids := []pat.TokenID{}
	for _, k := range list {
		ids = append(ids, k.ID)
	}
	return ids
}

func listTokens(b *suite) {
	a, other := b.claim(service, "a"), b.claim(service, "b")
	one := b.issue(a)
	two := b.token(a) // issued in the same second, with the higher id
	b.must(b.Issue(b.Context(), two))
	b.clock.Advance(time.Minute)
	three := b.issue(other)
	b.equal(b.tokens(store.TokenFilter{Service: service}), []pat.TokenID{three.ID, two.ID, one.ID})
	b.equal(b.tokens(store.TokenFilter{Service: service, AgentID: "a"}), []pat.TokenID{two.ID, one.ID})
	b.equal(b.tokens(store.TokenFilter{Service: service, AgreementID: other.ID}), []pat.TokenID{three.ID})
	b.equal(b.tokens(store.TokenFilter{Service: service, After: store.Cursor{At: two.IssuedAt, ID: string(two.ID)}}), []pat.TokenID{one.ID})
	b.equal(b.tokens(store.TokenFilter{Service: service, ID: two.ID}), []pat.TokenID{two.ID})
	b.equal(b.tokens(store.TokenFilter{Service: "other"}), []pat.TokenID{})
	list, err := b.Tokens(b.Context(), store.TokenFilter{Service: service, AgentID: "b"})
	b.must(err)
	b.equal(list, []store.ListedToken{{Token: three}})

	next := b.token(a)
	now := b.clock.Now()
	_, err = b.Renew(b.Context(), pat.Renewal{Old: one.ID, Next: next, Ends: now.Add(time.Minute), RepeatSince: now})
	b.must(err)
	valid := func(at time.Time) []pat.TokenID {
		b.Helper()
		return b.tokens(store.TokenFilter{Service: service, AgentID: "a", ValidAt: at})
	}
	b.equal(valid(now), []pat.TokenID{next.ID, two.ID, one.ID})
	b.equal(valid(now.Add(time.Minute)), []pat.TokenID{next.ID, two.ID}) // a renewed token ends
	b.equal(valid(two.ExpiresAt), []pat.TokenID{next.ID})
}

func listRevokedTokens(b *suite) {
	a := b.claim(service, "a")
	for _, c := range []struct {
		kind    pat.RevocationKind
		subject func(pat.Token) string
		// again means that the revocation does not end a token that is issued after it.
		again bool
	}{
		{pat.RevokedToken, func(k pat.Token) string { return string(k.ID) }, true},
		{pat.RevokedPolicy, func(k pat.Token) string { return k.PolicyDigest }, true},
		{pat.RevokedAgent, func(k pat.Token) string { return string(k.AgentID) }, true},
		{pat.RevokedAgreement, func(k pat.Token) string { return string(k.AgreementID) }, false},
	} {
		k := b.issue(a)
		b.must(b.Revoke(b.Context(),
			pat.Revocation{Service: service, Kind: c.kind, Subject: c.subject(k), At: b.clock.Now(), Until: start.Add(48 * time.Hour)}))
		b.must(b.Revoke(b.Context(), pat.Revocation{
			Service: "other", Kind: pat.RevokedPolicy, Subject: k.PolicyDigest, At: start.Add(time.Hour),
			Until: start.Add(48 * time.Hour),
		}))
		list, err := b.Tokens(b.Context(), store.TokenFilter{Service: service, Limit: 1})
		b.must(err)
		b.equal(list, []store.ListedToken{{Token: k, Revoked: true}})
		b.clock.Advance(time.Second)
		b.equal(slices.Contains(b.tokens(store.TokenFilter{Service: service, ValidAt: b.clock.Now()}), k.ID), false)
		if !c.again {
			continue
		}
		b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: "a", Status: pat.AgentActive}))
		k = b.issue(a)
		list, err = b.Tokens(b.Context(), store.TokenFilter{Service: service, Limit: 1, ValidAt: b.clock.Now()})
		b.must(err)
		b.equal(list, []store.ListedToken{{Token: k}})
		b.clock.Advance(time.Second)
	}
}

// listPages checks that small pages of each listing add up to the whole.
func listPages(b *suite) {
	const n = 23
	for i := range n {
		a := b.claim(service, pat.AgentID(fmt.Sprintf("agent-%02d", i)))
		b.issue(a)
		if i%3 == 0 {
			b.clock.Advance(time.Millisecond)
		}
	}
	for _, size := range []int{1, 4, n - 1, n, n + 1, 1000} {
		var agents, agreements, tokens []string
		var made, cursor store.Cursor
		for len(agents) < n {
			page := b.agents(store.AgentFilter{Service: service, After: pat.AgentID(last(agents)), Limit: size})
			if len(page) != min(size, n-len(agents)) {
				b.Fatalf("a page of size %d has %v", size, page)
			}
			agents = append(agents, page...)
		}
		for len(agreements) < n {
			page, err := b.Agreements(b.Context(), store.AgreementFilter{Service: service, After: made, Limit: size})
			b.must(err)
			for _, a := range page {
				agreements = append(agreements, string(a.ID))
				made = store.AgreementCursor(a)
			}
			if len(page) == 0 {
				b.Fatal("agreements end too early")
			}
		}
		for len(tokens) < n {
			page, err := b.Tokens(b.Context(), store.TokenFilter{Service: service, After: cursor, Limit: size})
			b.must(err)
			for _, k := range page {
				tokens = append(tokens, string(k.ID))
				parsed, ok := store.ParseCursor(k.Cursor().String())
				if !ok {
					b.Fatalf("the cursor %q does not parse", k.Cursor())
				}
				cursor = parsed
			}
			if len(page) == 0 {
				b.Fatal("tokens end too early")
			}
		}
		for name, ids := range map[string][]string{"agents": agents, "agreements": agreements, "tokens": tokens} {
			seen := slices.Compact(slices.Sorted(slices.Values(ids)))
			if len(ids) != n || len(seen) != n {
				b.Fatalf("%s in pages of %d: %d ids, %d of them distinct; want %d", name, size, len(ids), len(seen), n)
			}
		}
	}
	if got := len(b.agents(store.AgentFilter{Service: service, Limit: -1})); got != n {
		b.Fatalf("got %d without a limit, want %v", got, n)
	}
}

func last(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

func recentPolicies(b *suite) {
	offer := func(service, name string, at time.Time) pat.PolicyDocument {
		b.Helper()
		p := pat.PolicyDocument{
			Service: service, Digest: digest(name), UID: "https://shop.example/" + name,
			Bytes: []byte(`{"uid":"` + name + `"}`), FirstOffered: at,
		}
		b.must(b.OfferPolicy(b.Context(), p))
		return p
	}
	recent := func(n int) []pat.PolicyDocument {
		b.Helper()
		list, err := b.RecentPolicies(b.Context(), service, n)
		b.must(err)
		return list
	}
	one, two := offer(service, "one", start), offer(service, "two", start.Add(time.Hour))
	three := offer(service, "three", start.Add(2*time.Hour))
	offer("other", "four", start.Add(3*time.Hour))
	b.equal(recent(10), []pat.PolicyDocument{three, two, one})
	b.equal(recent(2), []pat.PolicyDocument{three, two})
	b.equal(len(recent(0)), 0)
	offer(service, "one", start.Add(4*time.Hour)) // offered again: now the newest
	b.equal(recent(10), []pat.PolicyDocument{one, three, two})
	offer(service, "one", start.Add(time.Minute)) // recorded late
	b.reopen()
	b.equal(recent(10), []pat.PolicyDocument{one, three, two})
	got, err := b.Policy(b.Context(), service, one.Digest)
	b.must(err)
	b.equal(got, one)
	b.clock.Advance(5 * time.Hour)
	now := offer(service, "now", time.Time{})
	now.FirstOffered = b.clock.Now()
	b.equal(recent(1), []pat.PolicyDocument{now})
}

func agreedPolicies(b *suite) {
	b.must(b.OfferPolicy(b.Context(),
		pat.PolicyDocument{Service: service, Digest: digest("old"), UID: "u", Bytes: []byte("{}"), FirstOffered: start.Add(-time.Hour)}))
	b.claim(service, "a") // offered at start
	list, err := b.RecentPolicies(b.Context(), service, 8)
	b.must(err)
	if len(list) != 2 || list[0].Digest != digest("policy") || list[1].Digest != digest("old") {
		b.Fatalf("got %+v", list)
	}
	b.claim(service, "b")
	again, err := b.RecentPolicies(b.Context(), service, 8)
	b.must(err)
	b.equal(again, list)
}
