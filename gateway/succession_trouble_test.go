package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// newOffer returns the policy whose order costs an amount in EUR, and its document.
func newOffer(t *testing.T, amount string) (pat.Offer, string) {
	t.Helper()
	text := strings.Replace(gatetest.PolicyFile, `"0.25"`, fmt.Sprintf("%q", amount), 1)
	offer, err := pat.NewOffer([]byte(text), "https://shop.example/policy/1")
	if err != nil {
		t.Fatal(err)
	}
	return offer, text
}

// reconfigure replaces the policies of the configuration, and reloads it.
func (s *succession) reconfigure(policies string) {
	s.Helper()
	before, _, _ := strings.Cut(s.Settings, ", policies: ")
	s.Write("uimgate.yaml", before+", policies: "+policies+"}\n")
	s.Reload()
}

// If somebody edits the present policy while the next one is announced, only the agents of the present one must agree again, and only for
// the intent whose terms changed.
func TestEditedPresentPolicy(t *testing.T) {
	s := newSuccession(t)
	first := s.Directory.Current().Service("default").Offer()
	old, _ := s.agreed("old", first, "")
	eager, _ := s.agreed("eager", s.second, "now")
	patient, _ := s.agreed("patient", s.second, "on_date")
	third, text := newOffer(t, "0.30")
	s.Write("policy.json", text)
	s.Reload()
	late, _ := s.agreed("late", third, "")
	got := []string{s.search(old), s.order(old), s.search(eager), s.order(eager), s.order(late)}
	want := []string{"", "403 POLICY_REQUIRES_AGREEMENT", "", "0.50 EUR", "0.30 EUR"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("before the date (-want +got):\n%s", diff)
	}
	s.Later(s.from.Sub(s.Now()))
	if got := s.order(patient); got != "0.50 EUR" {
		t.Errorf("the agreement for the date: %s, want 0.50 EUR", got)
	}
}

// If the operator goes back to the previous policy, the agreements to it are valid again, including those of agents that never agreed to
// another one.
func TestRollbackToPolicyBefore(t *testing.T) {
	const (
		present = "{file: policy.json}"
		next    = "{file: dearer.json, from: 2026-12-01T00:00Z}"
		back    = "{file: policy.json, from: 2026-12-01T00:10Z}"
	)
	for name, policies := range map[string]string{
		"on a date":                   "[" + present + ", " + next + ", " + back + "]",
		"at once, as the only policy": "[" + present + "]",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuccession(t)
			first := s.Directory.Current().Service("default").Offer()
			s.Later(s.from.Add(-time.Minute).Sub(s.Now()))
			old, _ := s.agreed("old", first, "")
			s.Later(time.Minute)
			eager, _ := s.agreed("eager", s.second, "")
			got := []string{s.order(old), s.order(eager)}
			s.reconfigure(policies)
			s.Later(10 * time.Minute)
			eager.Token = s.renewed(eager)
			got = append(got, s.order(old), s.search(old), s.order(eager), s.search(eager))
			s.agree(eager, first, "")
			got = append(got, s.order(eager))
			refused := "403 POLICY_REQUIRES_AGREEMENT"
			if diff := cmp.Diff([]string{refused, "0.50 EUR", "0.25 EUR", "", refused, "", "0.25 EUR"}, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

// Ten announced policies take effect within an hour. An agent that agrees to each of them for its date is never refused, and pays each
// price in its time. An agent that agreed to the first policy keeps the intents whose terms never change.
func TestTenAnnouncedSuccessions(t *testing.T) {
	s := newSuccession(t)
	first := s.Directory.Current().Service("default").Offer()
	old, _ := s.agreed("old", first, "")
	diligent, _ := s.agreed("diligent", first, "")
	start := s.Now().Truncate(time.Minute)
	policies, offers := "[{file: policy.json}", []pat.Offer{}
	for n := range 10 {
		offer, text := newOffer(t, fmt.Sprintf("0.3%d", n))
		offers = append(offers, offer)
		s.Write(fmt.Sprintf("%d.json", n), text)
		policies += fmt.Sprintf(", {file: %d.json, from: %s}", n, start.Add(time.Duration(n+1)*5*time.Minute).Format(time.RFC3339))
	}
	s.reconfigure(policies + "]")
	for n, offer := range offers {
		before := diligent.Token
		s.agree(diligent, offer, "on_date")
		next := diligent.Token
		diligent.Token = before
		s.Later(start.Add(time.Duration(n+1) * 5 * time.Minute).Add(-time.Second).Sub(s.Now()))
		want := "0.25 EUR"
		if n > 0 {
			want = fmt.Sprintf("0.3%d EUR", n-1)
		}
		if got := s.order(diligent); got != want {
			t.Errorf("a second before the date of policy %d: %s, want %s", n, got, want)
		}
		s.Later(time.Second)
		diligent.Token = next
		if got := s.order(diligent); got != fmt.Sprintf("0.3%d EUR", n) {
			t.Errorf("on the date of policy %d: %s, want 0.3%d EUR", n, got, n)
		}
		if got := [2]string{s.search(old), s.order(old)}; got != [2]string{"", "403 POLICY_REQUIRES_AGREEMENT"} {
			t.Errorf("policy %d, the first agreement: %q, want a free search and a refused order", n, got)
		}
	}
}

// A PAT that was renewed after the date lacks the intents whose terms changed. The refusals of these intents still list the changes in
// words; the refusals of intents that the agent never requested do not.
func TestRenewedPATAfterDateOfPolicy(t *testing.T) {
	s := newSuccession(t)
	s.Later(s.from.Add(-time.Minute).Sub(s.Now()))
	old, _ := s.agreed("old", s.Directory.Current().Service("default").Offer(), "")
	narrow := s.AgreedTo("narrow", gatetest.Searching)
	s.Later(time.Minute)
	for name, tt := range map[string]struct {
		agent *gatetest.Agent
		want  reason.Reason
		words string
	}{
		"an intent that the agreement names": {old, reason.PolicyRequiresAgreement, "The price is 0.50 EUR, instead of 0.25 EUR."},
		"an intent beyond the agreement":     {narrow, reason.ScopeExceeded, ""},
	} {
		tt.agent.Token = s.renewed(tt.agent)
		answer := s.Call("/api/intents/execute", tt.agent.Token, map[string]any{
			"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "lamp"},
		})
		changes, err := json.Marshal(refused(s.Gate, answer, 403, tt.want)["changes"])
		s.Must(err)
		if !strings.Contains(string(changes), tt.words) || tt.words == "" && string(changes) != "null" {
			t.Errorf("%s: changes %s, want %q", name, changes, tt.words)
		}
	}
}
