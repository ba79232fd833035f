package agent_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestAgreeExecuteAndRenew(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{keys.EdDSA, keys.ES256, keys.RS256} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			o := options(t, shop)
			o.Key = keyOf(t, algorithm)
			s := discover(t, o, shop.URL)
			if s.Issuer() != agenttest.Issuer || len(s.Warnings()) != 0 {
				t.Errorf("issuer %s, warnings %v", s.Issuer(), s.Warnings())
			}
			policy, err := s.Policy(t.Context())
			if err != nil || policy.Digest != shop.Digest() || policy.UID != agenttest.PolicyUID {
				t.Fatalf("got %+v, %v", policy, err)
			}
			a, err := s.Agree(t.Context(), agent.Acceptance{Digest: policy.Digest})
			if err != nil {
				t.Fatal(err)
			}
			want := agent.Agreement{
				ID: "agreement-1", PolicyUID: agenttest.PolicyUID, PolicyDigest: policy.Digest, Form: agent.FormFresh,
				ExpiresAt: shop.Clock.Now().Add(time.Hour), Scope: []string{agenttest.Search + ":execute", agenttest.Order + ":execute"},
				ScopeOmitted: []pat.OmittedEntry{{Entry: "shop.example:refund:v1:execute", Reason: "POLICY_VIOLATION"}},
			}
			if diff := cmp.Diff(want, a); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			r, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"query": "tea", "limit": 5}, agent.ExecuteOptions{RequestID: "mine"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(agent.Result{
				Output: map[string]any{"echo": map[string]any{"query": "tea", "limit": json.Number("5")}},
				Raw:    []byte(`{"echo":{"limit":5,"query":"tea"}}`),
				Status: 200, RequestID: "request-1", Attempts: 1, RateLimit: &agent.RateLimit{Limit: 100, Remaining: 99, Reset: time.Minute},
			}, r); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if c := shop.Calls()[0]; c.IdempotencyKey != "" || c.Proved || c.Header.Get("UIM-Request-ID") != "mine" {
				t.Errorf("a safe and free call was sent as %+v", c)
			}
			r, err = s.Execute(t.Context(), agenttest.Order, map[string]any{"query": "tea"}, agent.ExecuteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			wantCharge := &agent.Charge{Amount: money.Amount{Nano: 10_000_000, Currency: "USD"}, ExecutionID: "execution-1", State: "captured"}
			if diff := cmp.Diff(wantCharge, r.Charge); diff != "" || r.IdempotencyKey == "" {
				t.Error(diff, r.IdempotencyKey)
			}
			if _, err := s.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Revoke(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err = s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
			wantErr(t, err, agent.ErrNotAgreed)
		})
	}
}

func TestStaticAgreementForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect   agenttest.Dialect
		algorithm string
		form      agent.Form
	}{
		{agenttest.Mock, keys.RS256, agent.FormPolicyJWS},
		{agenttest.Mock, keys.EdDSA, agent.FormPolicyJWS},
		{agenttest.Mock, keys.ES256, agent.FormPolicyJWS},
		{agenttest.Guide, keys.RS256, agent.FormDetachedPython},
		{agenttest.Guide, keys.EdDSA, agent.FormDetachedPython},
	} {
		t.Run(string(tt.dialect)+" "+tt.algorithm, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, tt.dialect)
			o := options(t, shop)
			o.Key, o.AllowStatic = keyOf(t, tt.algorithm), true
			s := agreed(t, o, shop.URL)
			if f := s.Session().Form; f != tt.form {
				t.Errorf("agreed as %s, want %s", f, tt.form)
			}
			r, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"query": "tea"}, agent.ExecuteOptions{})
			if err != nil || cmp.Diff(map[string]any{"echo": map[string]any{"query": "tea"}}, r.Output) != "" {
				t.Fatalf("got %v, %v", r.Output, err)
			}
			// The service offers no renewal, so the client signs the same policy again, in the form that the service accepts.
			before := s.Session().Token()
			shop.Clock.Add(59 * time.Minute)
			if _, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{}); err != nil {
				t.Fatal(err)
			}
			if s.Session().Token() == before || s.Session().Form != tt.form {
				t.Error("the PAT was not replaced")
			}
		})
	}
}

func TestStaticAgreementNeedsAllowStatic(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Mock)
	s := discover(t, options(t, shop), shop.URL)
	_, err := s.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()})
	if e := refusal(t, err); e.Status != 422 || e.Message != "signature verification failed" {
		t.Errorf("got %+v; want Status 422 and Message %q", e, "signature verification failed")
	}
	if n := shop.Requests("/pat/issue"); n != 1 {
		t.Errorf("%d signatures were sent, want only the fresh one", n)
	}
}

func TestNoStaticSignatureAfterARefusalWithAReason(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.SetMember("uim-issuer", "other.example") // the service then rejects the audience
	o := options(t, shop)
	o.AllowStatic = true
	_, err := discover(t, o, shop.URL).Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()})
	wantErr(t, err, agent.ErrPolicyMismatch)
	if n := shop.Requests("/api/pat/issue"); n > 2 {
		t.Errorf("%d signatures were sent", n)
	}
}

func TestDraftServices(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Draft)
	s := agreed(t, options(t, shop), shop.URL)
	r, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"query": "tea"}, agent.ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"echo": map[string]any{"query": "tea"}}, r.Output); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&agent.RateLimit{Remaining: 7, Reset: 30 * time.Second}, r.RateLimit); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestAgreeSignsOnlyTheAcceptedPolicy(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := discover(t, options(t, shop), shop.URL)
	seen := shop.Digest()
	shop.Offer(t, `{"uid":"`+agenttest.PolicyUID+`","permission":[]}`)
	_, err := s.Agree(t.Context(), agent.Acceptance{Digest: seen})
	if changed, ok := errors.AsType[*agent.PolicyChangedError](err); !ok || changed.Agreed != seen || changed.Offered != shop.Digest() {
		t.Fatalf("err = %v, want a change from %s to %s", err, seen, shop.Digest())
	}
	wantErr(t, err, agent.ErrPolicyRequiresAgreement)
	if shop.Requests("/api/pat/issue") != 0 {
		t.Error("something was signed")
	}
	_, err = s.Agree(t.Context(), agent.Acceptance{})
	wantErr(t, err, agent.ErrOptions)
}

func TestPolicyChangeEndsTheAgreement(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	seen := shop.Digest()
	shop.Offer(t, `{"uid":"`+agenttest.PolicyUID+`","permission":[]}`)
	want := func(err error) {
		t.Helper()
		changed, ok := errors.AsType[*agent.PolicyChangedError](err)
		if !ok || changed.Agreed != seen || changed.Offered != shop.Digest() {
			t.Errorf("err = %v, want a change from %s to %s", err, seen, shop.Digest())
		}
		if e := refusal(t, err); e.Status != 403 {
			t.Errorf("got %+v, want Status 403", e)
		}
	}
	_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	want(err)
	_, err = s.Renew(t.Context())
	want(err)
	shop.Clock.Add(time.Hour - time.Second) // the renewal is due
	_, err = s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	want(err)
	if n := shop.Requests("/api/pat/issue"); n != 1 {
		t.Errorf("%d agreements were sent, want only the first", n)
	}
}

func TestAgreementPendingApproval(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.RequireApproval()
	o := options(t, shop)
	s := discover(t, o, shop.URL)
	seen := agent.Acceptance{Digest: shop.Digest()}
	wantPending := func(err error) {
		t.Helper()
		if pending, ok := errors.AsType[*agent.PendingError](err); !ok || pending.AgreementID != "agreement-1" {
			t.Fatalf("err = %v, want agreement-1 to be pending", err)
		}
	}
	_, err := s.Agree(t.Context(), seen)
	wantPending(err)
	path := t.TempDir() + "/session.json"
	if err := agent.SaveSession(path, s.Session()); err != nil {
		t.Fatal(err)
	}
	session, err := agent.LoadSession(path)
	if err != nil || !session.Pending() || session.Agreed() {
		t.Fatalf("got %v, %v", session, err)
	}
	again, err := clientOf(t, o).Resume(session)
	if err != nil {
		t.Fatal(err)
	}
	shop.Clock.Add(4 * time.Minute)
	_, err = again.Agree(t.Context(), seen)
	wantPending(err)
	shop.Approve()
	if _, err := again.Agree(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if session := again.Session(); session.Pending() || len(session.Document) == 0 {
		t.Errorf("got %v with the document %q, want the agreement with the policy that was signed", session, session.Document)
	}
	if _, err := again.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestSearchAndIntent(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := discover(t, agent.Options{}, shop.URL) // needs no key
	page, err := s.Search(t.Context(), agent.Query{Text: "goods", PageSize: 1})
	if err != nil || page.TotalResults != 41 || len(page.Intents) != 1 || page.Intents[0].UID.String() != agenttest.Search {
		t.Fatalf("got %+v, %v", page, err)
	}
	in, err := s.Intent(t.Context(), agenttest.Order)
	if err != nil || in.Price != "0.01 USD" || shop.Requests("/api/intents/"+agenttest.Order) != 0 {
		t.Fatalf("got %+v, %v", in, err)
	}
	for range 2 {
		in, err = s.Intent(t.Context(), "shop.example:hidden:v1")
		if err != nil || in.UID.Name != "hidden" {
			t.Fatalf("got %+v, %v; want no error and UID.Name %q", in, err, "hidden")
		}
	}
	if n := shop.Requests("/api/intents/shop.example:hidden:v1"); n != 1 {
		t.Errorf("%d requests for the intent, want 1", n)
	}
	_, err = s.Intent(t.Context(), "shop.example:none:v1")
	wantErr(t, err, agent.ErrIntentNotFound)
}

// The client requests an intent in full when it needs what the brief view omits. If a service rejects the parameter view, the client
// searches without it.
func TestSearchViews(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		shop := agenttest.New(t, agenttest.Canonical)
		var views []string
		usual := shop.Config.Handler
		shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			view := r.URL.Query().Get("view")
			if strings.HasSuffix(r.URL.Path, "/search") {
				views = append(views, view)
			}
			switch {
			case view != "" && strict:
				w.WriteHeader(http.StatusBadRequest)
			case view == "brief":
				_, _ = io.WriteString(w, `{"view":"brief","details":"x","intents":[{"intent_uid":"shop.example:hidden:v1","intent_name":"Hidden",
					"description":"Starts…","price":"0.02 USD","safe":true}],"pagination":{"total_results":7}}`)
			default:
				usual.ServeHTTP(w, r)
			}
		})
		s := discover(t, agent.Options{}, shop.URL)
		full, err := s.Search(t.Context(), agent.Query{Text: "goods"})
		if err != nil || len(full.Intents) != 1 || full.Brief || len(full.Intents[0].Inputs) == 0 {
			t.Fatalf("got %+v, %v", full, err)
		}
		brief, err := s.Search(t.Context(), agent.Query{Text: "goods", Brief: true})
		want := "full brief"
		if strict {
			want = "full  brief "
		} else if in := brief.Intents[0]; !brief.Brief || in.Price != "0.02 USD" || !in.Safe || brief.TotalResults != 7 {
			t.Errorf("got %+v", in)
		}
		if got := strings.Join(views, " "); err != nil || len(brief.Intents) != 1 || got != want {
			t.Errorf("%v, %v, requested views %q; want no error, Intents of length 1 and %v", brief, err, got, want)
		}
		if in, err := s.Intent(t.Context(), "shop.example:hidden:v1"); err != nil || len(in.Inputs) == 0 {
			t.Errorf("got %+v, %v", in, err)
		}
	}
}

func TestSearchWithoutEndpoint(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Mock)
	s := discover(t, agent.Options{}, shop.URL)
	page, err := s.Search(t.Context(), agent.Query{Text: "goods"})
	if err != nil || len(page.Intents) != 1 {
		t.Fatalf("got %+v, %v; want no error and Intents of length 1", page, err)
	}
	if in := page.Intents[0]; len(in.Inputs) != 2 || in.Inputs[0].Required || !in.Inputs[1].Required || in.Inputs[1].Type != "string" {
		t.Errorf("got %+v", in.Inputs)
	}
	var none *intents.Intent
	if in, err := s.Intent(t.Context(), "shop.example:none:v1"); in != none || !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("got %v, %v; want %v, %v", in, err, none, agent.ErrNotFound)
	}
}

func TestErrorsAreComplete(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	shop.Script(agenttest.Reply{
		Status: 400, Header: map[string]string{"UIM-Request-ID": "r-1", "RateLimit": `"hour";r=3`},
		Body: `{"error":{"code":"INVALID_PARAMETER","message":"Wrong\u001b[31m.","details":{
			"reason":"PARAMETER_OUT_OF_RANGE","uim_code":"UIM-VAL-008","suggestion":"Use less.","outcome":"not_sent",
			"upstream":{"status":422,"message":"limit\u001b is 50"},
			"violations":[{"pointer":"/limit","keyword":"maximum","reason":"PARAMETER_OUT_OF_RANGE","message":"at most 50","limit":50}]
		}}}`,
	})
	_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrParameterOutOfRange)
	if errors.Is(err, agent.ErrInvalidParameter) || errors.Is(err, agent.ErrNotFound) {
		t.Error("the error matches other reasons too")
	}
	e := refusal(t, err)
	e.Details = nil
	ignore := cmpopts.IgnoreUnexported(agent.Error{})
	if diff := cmp.Diff(&agent.Error{
		Status: 400, Code: "INVALID_PARAMETER", Reason: "PARAMETER_OUT_OF_RANGE", UIMCode: "UIM-VAL-008",
		Message: "Wrong [31m.", Suggestion: "Use less.",
		Violations: []schema.Violation{{
			Pointer: "/limit", Keyword: "maximum", Reason: reason.ParameterOutOfRange, Message: "at most 50", Limit: json.Number("50"),
		}},
		Upstream: "limit is 50", Outcome: "not_sent", RequestID: "r-1", RateLimit: &agent.RateLimit{Remaining: 3},
	}, e, ignore); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}
