package gateway_test

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// policyDigest matches the digest of a policy.
var policyDigest = regexp.MustCompile(`sha-256:[\w-]{43}`)

func bigEndian(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func TestAgreementLifecycle(t *testing.T) {
	d := newAgreeTest(t, "")
	a := d.Unapproved("agent-1")
	issued, err := d.issue(d.fresh(a))
	d.Must(err)
	if diff := cmp.Diff([]string{finding, buying}, issued.Claims.Scope); diff != "" || issued.State != pat.AgreementActive {
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	wantOmitted := []pat.OmittedEntry{{Entry: "shop.example:secret:v1:execute", Reason: reason.InsufficientPermissions}}
	if diff := cmp.Diff(wantOmitted, issued.Omitted); diff != "" {
		t.Errorf("omitted (-want +got):\n%s", diff)
	}
	want := agree.Event{
		At: d.Now(), Service: "default", Operation: agree.Agreement, AgentID: "agent-1", TokenID: issued.Claims.ID,
		AgreementID: issued.AgreementID,
		Digest:      d.service().Offer().Digest,
	}
	if diff := cmp.Diff(want, *d.last()); diff != "" {
		t.Errorf("the event of the agreement (-want +got):\n%s", diff)
	}

	a.Token = issued.Token
	next, err := d.renew(a.Token, d.proof(a))
	d.Must(err)
	want.Operation, want.TokenID = agree.Renewal, next.Claims.ID
	if diff := cmp.Diff(want, *d.last()); diff != "" {
		t.Errorf("the event of the renewal (-want +got):\n%s", diff)
	}

	found, err := d.introspect(next.Token, next.Token)
	d.Must(err)
	if !found.Active || found.Subject != "agent-1" {
		t.Errorf("got %+v, want an active PAT of agent-1", found)
	}
	want.Operation = agree.Introspection
	if diff := cmp.Diff(want, *d.last()); diff != "" {
		t.Errorf("the event of the introspection (-want +got):\n%s", diff)
	}

	d.Must(d.Agreements.Revoke(d.Context(), d.call(), next.Token))
	if e := d.last(); e.Operation != agree.Revocation || e.Reason != "" {
		t.Errorf("the event of the revocation: %+v; want Operation %v and Reason empty", e, agree.Revocation)
	}
	if found, err = d.introspect(next.Token, next.Token); err != nil || found.Active {
		t.Errorf("after the revocation: got %+v, %v; want an inactive PAT", found, err)
	}
	if err := d.Agreements.Revoke(d.Context(), d.call(), "canary"); err != nil {
		t.Errorf("revoking a text that is not a PAT: got %v", err)
	}
}

func TestPendingAgreement(t *testing.T) {
	d := newAgreeTest(t, "pat: {admission: approval}")
	a := d.Unapproved("agent-1")
	request := d.fresh(a)
	issued, err := d.issue(request)
	d.Must(err)
	if issued.State != pat.AgreementPending || issued.Token != "" || !d.last().Pending || d.last().AgreementID != issued.AgreementID {
		t.Errorf("got %+v and the event %+v, want a pending agreement", issued, d.last())
	}
	d.Must(d.service().Issuance.Approve(d.Context(), "agent-1"))
	issued, err = d.issue(request)
	d.Must(err)
	if issued.Token == "" || d.last().Pending {
		t.Errorf("after the approval: got %+v and the event %+v, want a PAT", issued, d.last())
	}
}

// Each caller has its own limits, so a caller that reaches a limit does not affect others.
func TestLimitsPerCaller(t *testing.T) {
	d := newAgreeTest(t, "server: {issue_per_address: 1/minute}")
	d.agreed("agent-1")
	if _, err := d.issue(d.fresh(d.Unapproved("agent-2"))); refusalOf(t, err).Reason != reason.TooManyConnections {
		t.Errorf("got %v, want %s", err, reason.TooManyConnections)
	}
	d.from = "agent1qexample"
	d.agreed("agent-3")
}

// An agreement to an earlier policy is renewed for the intents whose terms have not changed.
func TestRenewalAfterChangedPrice(t *testing.T) {
	d := newAgreeTest(t, "")
	agreed, a := d.service().Offer().Digest, d.agreed("i-1")
	d.Write("policy.json", strings.Replace(agreePolicy, `"0.25"`, `"0.50"`, 1))
	d.Reload()
	renewed, err := d.renew(a.Token, d.proof(a))
	if err != nil {
		t.Fatal(err)
	}
	if got := renewed.Claims; !slices.Equal(got.Scope, []string{finding}) || got.PolicyDigest != agreed {
		t.Errorf("scope %v, policy %s", got.Scope, got.PolicyDigest)
	}
	if want := []pat.OmittedEntry{{Entry: buying, Reason: reason.PolicyRequiresAgreement}}; !slices.Equal(renewed.Omitted, want) {
		t.Errorf("omitted %v", renewed.Omitted)
	}
	if found, err := d.introspect(renewed.Token, renewed.Token); err != nil || !found.Active {
		t.Errorf("%+v, %v", found, err)
	}
	d.Write("policy.json", strings.Replace(agreePolicy, "policy/1", "policy/2", 1))
	d.Reload()
	if found, err := d.introspect(renewed.Token, renewed.Token); err != nil || found.Active {
		t.Errorf("%+v, %v", found, err)
	}
}
