package storetest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testTokens(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a token is stored unchanged":            tokenRoundTrip,
		"issuing requires an agreement in force": issueNeedsAgreement,
		"a renewal gives one successor":          renewOnce,
		"a renewal uses its nonce once":          renewNonce,
		"a revoked token is not renewed":         revokedNotRenewed,
		"all tokens of a family end together":    familyRevoked,
		"a renewal never extends the old token":  renewNeverExtends,
		"a nonce reports a renewal once":         renewReportedOnce,
		"the newest valid tokens are listed":     newestTokens,
	})
}

func tokenRoundTrip(b *suite) {
	k := b.issue(b.agree(b.agreement("n")))
	b.reopen()
	got, err := b.Token(b.Context(), service, k.ID)
	b.must(err)
	if d := cmp.Diff(k, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	if err := b.Issue(b.Context(), k); err == nil {
		b.Fatal("one jti was issued twice")
	}
	_, err = b.Token(b.Context(), "another", k.ID)
	b.want(err, pat.ErrNotFound)
}

func renewReportedOnce(b *suite) {
	a := b.agree(b.agreement("n"))
	old, next := b.issue(a), b.token(a)
	renew := func(nonce string, next pat.Token) (pat.Token, error) {
		return b.Renew(b.Context(), pat.Renewal{
			Old: old.ID, Next: next, Ends: start.Add(time.Minute), RepeatSince: start, Nonce: nonce, NonceUntil: start.Add(time.Hour), Once: true,
		})
	}
	_, err := renew("p", next)
	b.must(err)
	_, err = renew("p", b.token(a))
	b.want(err, pat.ErrReplayed)
	if same, err := renew("q", b.token(a)); err != nil || same.ID != next.ID {
		b.Errorf("%s, %v, want %s", same.ID, err, next.ID)
	}
	_, err = renew("q", b.token(a))
	b.want(err, pat.ErrReplayed)
}

func newestTokens(b *suite) {
	a := b.agree(b.agreement("n"))
	issued := func(after, life time.Duration) pat.TokenID {
		k := b.token(a)
		k.IssuedAt, k.ExpiresAt = start.Add(after), start.Add(after+life)
		b.must(b.Issue(b.Context(), k))
		return k.ID
	}
	first, short, last := issued(time.Second, time.Hour), issued(2*time.Second, time.Minute), issued(3*time.Second, time.Hour)
	old := b.token(a)
	old.IssuedAt, old.ExpiresAt = start.Add(4*time.Second), start.Add(time.Hour)
	b.must(b.Issue(b.Context(), old))
	next := b.token(a)
	next.IssuedAt, next.ExpiresAt, next.Family = start.Add(5*time.Second), start.Add(time.Hour), old.ID
	_, err := b.Renew(b.Context(), pat.Renewal{Old: old.ID, Next: next, Ends: start.Add(time.Minute), RepeatSince: start})
	b.must(err)
	for _, c := range []struct {
		after time.Duration
		n     int
		want  []pat.TokenID
	}{
		{10 * time.Second, 9, []pat.TokenID{next.ID, old.ID, last, short, first}},
		{2 * time.Minute, 9, []pat.TokenID{next.ID, last, first}},
		{2 * time.Minute, 1, []pat.TokenID{next.ID}},
		{2 * time.Hour, 9, nil},
	} {
		list, err := b.Newest(b.Context(), service, agent, start.Add(c.after), c.n)
		b.must(err)
		var got []pat.TokenID
		for _, k := range list {
			got = append(got, k.ID)
		}
		if !slices.Equal(got, c.want) {
			b.Errorf("after %s: %v, want %v", c.after, got, c.want)
		}
	}
	for _, other := range []struct {
		service string
		agent   pat.AgentID
	}{{"another", agent}, {service, "another"}} {
		if list, err := b.Newest(b.Context(), other.service, other.agent, start, 9); err != nil || len(list) != 0 {
			b.Errorf("%v: %v, %v; want none, nil", other, list, err)
		}
	}
}

func issueNeedsAgreement(b *suite) {
	a := b.agree(b.agreement("n"))
	strange := b.token(a)
	strange.AgreementID = "unknown"
	b.want(b.Issue(b.Context(), strange), pat.ErrNotFound)
	strange.AgreementID, strange.AgentID = a.ID, "unknown"
	b.want(b.Issue(b.Context(), strange), pat.ErrNotFound)
	b.must(b.tryAgree("other", "key-o", "n"))
	strange.AgentID = "other"
	b.want(b.Issue(b.Context(), strange), pat.ErrNotFound)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentBlocked}))
	b.want(b.Issue(b.Context(), b.token(a)), pat.ErrBlocked)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentActive}))
	b.issue(a)
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedAgreement, Subject: string(a.ID), At: start, Until: start.Add(time.Hour)}))
	b.want(b.Issue(b.Context(), b.token(a)), pat.ErrBlocked)
}

func renewOnce(b *suite) {
	old := b.issue(b.agree(b.agreement("n")))
	b.clock.Advance(10 * time.Minute)
	now := b.clock.Now()
	next, within := b.token(pat.Agreement{Service: service, ID: old.AgreementID, AgentID: agent, KeyID: old.KeyID}), time.Minute
	got, err := b.Renew(b.Context(), pat.Renewal{
		Old: old.ID, Next: next, Ends: now.Add(time.Minute), RepeatSince: now.Add(-within),
		Nonce: "p1", NonceUntil: now.Add(time.Hour),
	})
	b.must(err)
	if d := cmp.Diff(next, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	want := old
	want.EndsAt, want.RenewedTo, want.RenewedAt = now.Add(time.Minute), next.ID, now
	stored, err := b.Token(b.Context(), service, old.ID)
	b.must(err)
	if d := cmp.Diff(want, stored); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	b.reopen()
	b.clock.Advance(time.Minute) // the same renewal within a minute
	other := next
	other.ID = pat.TokenID(b.id())
	got, err = b.Renew(b.Context(), pat.Renewal{
		Old: old.ID, Next: other, Ends: b.clock.Now().Add(time.Minute),
		RepeatSince: b.clock.Now().Add(-within), Nonce: "p1", NonceUntil: now,
	})
	b.must(err)
	if d := cmp.Diff(next, got); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	_, err = b.Token(b.Context(), service, other.ID)
	b.want(err, pat.ErrNotFound)
	_, err = b.Renew(b.Context(), pat.Renewal{Old: "unknown", Next: other, Ends: now, RepeatSince: now})
	b.want(err, pat.ErrNotFound)
}

func familyRevoked(b *suite) {
	a := b.agree(b.agreement("n"))
	first, next, other := b.issue(a), b.token(a), b.issue(a)
	next.Family = first.ID
	_, err := b.Renew(b.Context(), pat.Renewal{Old: first.ID, Next: next, Ends: start.Add(time.Minute), RepeatSince: start})
	b.must(err)
	b.must(b.Revoke(b.Context(),
		pat.Revocation{Service: service, Kind: pat.RevokedToken, Subject: string(first.ID), At: start, Until: start.Add(time.Hour)}))
	b.reopen()
	_, err = b.Renew(b.Context(), pat.Renewal{Old: next.ID, Next: b.token(a), Ends: start, RepeatSince: start})
	b.want(err, pat.ErrBlocked)
	listed, err := b.Tokens(b.Context(), store.TokenFilter{Service: service, Limit: 10})
	b.must(err)
	revoked := map[pat.TokenID]bool{}
	for _, k := range listed {
		revoked[k.ID] = k.Revoked
	}
	if want := map[pat.TokenID]bool{first.ID: true, next.ID: true, other.ID: false}; !maps.Equal(revoked, want) {
		b.Fatalf("revoked %v, want %v", revoked, want)
	}
}

func renewNonce(b *suite) {
	a := b.agree(b.agreement("n"))
	for i, nonce := range []string{"p", "p", "", ""} {
		old, next := b.issue(a), b.token(a)
		_, err := b.Renew(b.Context(),
			pat.Renewal{Old: old.ID, Next: next, Ends: start, RepeatSince: start, Nonce: nonce, NonceUntil: start.Add(time.Hour)})
		if i != 1 {
			b.must(err)
			continue
		}
		b.want(err, pat.ErrReplayed)
		if got, err := b.Token(b.Context(), service, old.ID); err != nil || got.RenewedTo != "" {
			b.Fatalf("got %+v, %v; want no error and RenewedTo empty", got, err)
		}
	}
}

func revokedNotRenewed(b *suite) {
	for _, kind := range []pat.RevocationKind{pat.RevokedToken, pat.RevokedAgreement, pat.RevokedPolicy, pat.RevokedAgent} {
		a := b.agree(b.agreement(string(kind)))
		old, next := b.issue(a), b.token(a)
		subject := map[pat.RevocationKind]string{
			pat.RevokedToken: string(old.ID), pat.RevokedAgreement: string(a.ID),
			pat.RevokedPolicy: a.PolicyDigest, pat.RevokedAgent: agent,
		}[kind]
		b.must(b.Revoke(b.Context(),
			pat.Revocation{Service: service, Kind: kind, Subject: subject, At: b.clock.Now(), Until: start.Add(time.Hour)}))
		_, err := b.Renew(b.Context(), pat.Renewal{Old: old.ID, Next: next, Ends: start.Add(time.Minute), RepeatSince: start})
		b.want(err, pat.ErrBlocked)
		b.clock.Advance(time.Second)
	}
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentActive}))
	a := b.agree(b.agreement("after")) // PATs issued after the revocations are valid
	_, err := b.Renew(b.Context(), pat.Renewal{Old: b.issue(a).ID, Next: b.token(a), Ends: start.Add(time.Minute), RepeatSince: start})
	b.must(err)
}

func renewNeverExtends(b *suite) {
	a := b.agree(b.agreement("n"))
	old := b.issue(a)
	_, err := b.Renew(b.Context(), pat.Renewal{Old: old.ID, Next: b.token(a), Ends: start.Add(time.Minute), RepeatSince: start})
	b.must(err)
	b.clock.Advance(10 * time.Minute)
	_, err = b.Renew(b.Context(), pat.Renewal{Old: old.ID, Next: b.token(a), Ends: b.clock.Now().Add(time.Minute), RepeatSince: b.clock.Now()})
	b.must(err)
	if got, err := b.Token(b.Context(), service, old.ID); err != nil || !got.EndsAt.Equal(start.Add(time.Minute)) {
		b.Fatalf("got %+v, %v", got, err)
	}
}
