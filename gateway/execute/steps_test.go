package execute_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// A refusalCase is a call that is refused at one of the nine steps, and the expected refusal.
type refusalCase struct {
	name   string
	agent  func(*world) *gatetest.Agent      // nil: a new agent with a fresh agreement
	before func(w *world, a *gatetest.Agent) // runs before the call
	call   call
	with   func(w *world, a *gatetest.Agent) call // returns the call, instead of call
	want   reason.Reason
	// message and details are the parts that the agent receives in addition to the entry in the table of reasons. POLICY replaces the
	// reference to the policy. If message is empty, the message of the reason is expected.
	message, details string
	code             reason.Code // empty: the code of the reason
	after            time.Duration
	charge           string // amount and state in the refusal
	standing         string
	requests         int64  // requests to the upstream
	counted          int64  // calls of find that were counted
	owed             string // held and captured amounts of the agent
	ended            bool   // the agent can make no more calls
}

func revoked(kind pat.RevocationKind) func(*world, *gatetest.Agent) {
	return func(w *world, a *gatetest.Agent) {
		subject := string(a.ID)
		if kind == pat.RevokedToken {
			subject = string(w.TokenID(a))
		}
		w.Must(w.service().Issuance.Revoke(w.Context(), pat.Revocation{Kind: kind, Subject: subject, Reason: "test"}))
	}
}

// refusals are the cases that share one service, in the order of the steps.
var refusals = []refusalCase{
	// 1 authenticate
	{name: "no token", agent: func(*world) *gatetest.Agent { return nil }, call: call{intent: find}, want: reason.MissingToken},
	{
		name: "no PAT", agent: func(*world) *gatetest.Agent { return &gatetest.Agent{Token: "x.y.z"} }, call: call{intent: find},
		want: reason.InvalidToken,
	},
	{
		name: "an expired PAT", before: func(w *world, _ *gatetest.Agent) { w.Later(2 * time.Hour) }, call: call{intent: find},
		want: reason.ExpiredToken, ended: true,
	},
	{name: "a revoked PAT", before: revoked(pat.RevokedToken), call: call{intent: find}, want: reason.RevokedToken, ended: true},
	{name: "a blocked agent", before: revoked(pat.RevokedAgent), call: call{intent: find}, want: reason.AgentBlocked, ended: true},

	// 2 resolve
	{
		name: "the reader refuses the request",
		call: call{read: func() (execute.Request, error) {
			return execute.Request{}, reason.BodyTooLarge.Refusal("").With("max_bytes", 1)
		}},
		want: reason.BodyTooLarge, details: `{"max_bytes":1}`,
	},
	{
		name: "a panic", call: call{read: func() (execute.Request, error) { panic("canary") }}, want: reason.Internal,
		details: `{"outcome":"not_sent"}`,
	},
	{
		name: "no such intent", call: call{intent: "shop.example:fynd:v1"}, want: reason.IntentNotFound,
		details: `{"nearest":"shop.example:find:v1"}`,
	},
	{name: "no uid", call: call{intent: "find"}, want: reason.IntentNotFound, message: "The uid of an intent must have the form namespace:intent-name:version."},
	{
		name: "a uid without its version", call: call{intent: "shop.example:find"}, want: reason.IntentNotFound,
		message: "The uid of an intent must have the form namespace:intent-name:version.", details: `{"nearest":"shop.example:find:v1"}`,
	},
	{
		name: "an intent_name", call: call{intent: "Find"}, want: reason.IntentNotFound,
		message: "The uid of an intent must have the form namespace:intent-name:version.", details: `{"nearest":"shop.example:find:v1"}`,
	},
	{
		name: "another version", call: call{intent: "shop.example:find:v2"}, want: reason.VersionConflict,
		details: `{"versions":["shop.example:find:v1"]}`,
	},
	{name: "a retired intent", call: call{intent: old}, want: reason.IntentDeprecated, details: `{"replaced_by":"shop.example:find:v1"}`},
	{
		name: "a retired intent without a successor", call: call{intent: gone}, want: reason.IntentDeprecated,
		details: `{"suggestion":"This intent has no successor. Search for another intent of the service."}`,
	},
	{
		name: "beyond the scope", call: call{intent: secret}, want: reason.ScopeExceeded,
		details: `{"scope_needed":"shop.example:secret:v1:execute"}`,
	},
	{
		name: "a static agreement, where a fresh one is asked for", agent: (*world).static, call: call{intent: careful},
		want: reason.FreshAgreementRequired, message: freshMessage, details: `{"issuer":"shop.example","policy":POLICY}`,
	},

	// 3 validate
	{
		name: "a parameter left out", call: call{intent: find, parameters: `{}`}, want: reason.MissingParameter,
		message: `The parameter at /parameters/q is not valid for this intent: the parameter "q" is required.`,
		details: `{"violations":[{"pointer":"/parameters/q","keyword":"required","reason":"MISSING_PARAMETER","message":"the parameter \"q\" is required"}]}`,
	},
	{
		name: "of another type", call: call{intent: find, parameters: `{"q":7}`}, want: reason.InvalidParameter,
		message: `The parameter at /parameters/q is not valid for this intent: must be of type "string".`,
		details: `{"violations":[{"pointer":"/parameters/q","keyword":"type","reason":"INVALID_PARAMETER","message":"must be of type \"string\"","limit":"string"}]}`,
	},
	{
		name: "of another format", call: call{intent: find, parameters: `{"q":"lamp","day":"today"}`}, want: reason.InvalidFormat,
		message: `The parameter at /parameters/day is not valid for this intent: must have the format "date".`,
		details: `{"violations":[{"pointer":"/parameters/day","keyword":"format","reason":"INVALID_FORMAT","message":"must have the format \"date\"","limit":"date"}]}`,
	},
	{
		name: "too long", call: call{intent: find, parameters: `{"q":"ten lampsx"}`}, want: reason.ParameterTooLong,
		message: `The parameter at /parameters/q is not valid for this intent: must have at most 9 characters.`,
		details: `{"violations":[{"pointer":"/parameters/q","keyword":"maxLength","reason":"PARAMETER_TOO_LONG","message":"must have at most 9 characters","limit":9}]}`,
	},
	{
		name: "too short", call: call{intent: find, parameters: `{"q":"l"}`}, want: reason.ParameterTooShort,
		message: `The parameter at /parameters/q is not valid for this intent: must have at least 2 characters.`,
		details: `{"violations":[{"pointer":"/parameters/q","keyword":"minLength","reason":"PARAMETER_TOO_SHORT","message":"must have at least 2 characters","limit":2}]}`,
	},
	{
		name: "out of range", call: call{intent: find, parameters: `{"q":"lamp","price":101}`}, want: reason.ParameterOutOfRange,
		message: `The parameter at /parameters/price is not valid for this intent: must be at most 100.`,
		details: `{"violations":[{"pointer":"/parameters/price","keyword":"maximum","reason":"PARAMETER_OUT_OF_RANGE","message":"must be at most 100","limit":100}]}`,
	},
	{
		name: "none of the values", call: call{intent: find, parameters: `{"q":"lamp","kind":"car"}`}, want: reason.InvalidEnumValue,
		message: `The parameter at /parameters/kind is not valid for this intent: must be one of ["lamp","desk"].`,
		details: `{"violations":[{"pointer":"/parameters/kind","keyword":"enum","reason":"INVALID_ENUM_VALUE","message":"must be one of [\"lamp\",\"desk\"]",` +
			`"limit":["lamp","desk"]}]}`,
	},
	{
		name: "unknown", call: call{intent: find, parameters: `{"q":"lamp","knd":"lamp"}`}, want: reason.UnknownParameter,
		message: `The parameter at /parameters/knd is not valid for this intent: "knd" is not a parameter here: did you mean "kind"?.`,
		details: `{"violations":[{"pointer":"/parameters/knd","keyword":"additionalProperties","reason":"UNKNOWN_PARAMETER",` +
			`"message":"\"knd\" is not a parameter here: did you mean \"kind\"?","nearest":"kind","known":["q","kind","price","day","page"]}]}`,
	},
	{
		name: "several at once", call: call{intent: find, parameters: `{"q":"l","price":-1}`}, want: reason.ParameterTooShort,
		message: "The parameters are not valid for this intent.",
		details: `{"violations":[{"pointer":"/parameters/q","keyword":"minLength","reason":"PARAMETER_TOO_SHORT","message":"must have at least 2 characters","limit":2},` +
			`{"pointer":"/parameters/price","keyword":"minimum","reason":"PARAMETER_OUT_OF_RANGE","message":"must be at least 0","limit":0}]}`,
	},
	{
		name: "not to be sent in a path", call: call{intent: item, parameters: `{"id":".."}`}, want: reason.InvalidParameter,
		message: "The parameter at /parameters/id is not valid for this intent: is part of the URL and must not be . or ...",
		details: `{"violations":[{"pointer":"/parameters/id","keyword":"path","reason":"INVALID_PARAMETER","message":"is part of the URL and must not be . or .."}]}`,
	},
	{
		name: "a number that a fingerprint cannot hold", call: call{
			intent:     buy,
			parameters: `{"product":"x","amount":0.12345678901234567890}`, key: "k",
		},
		want:    reason.InvalidParameter,
		message: "The parameter at /parameters/amount is not valid for this intent: " + inexactMessage + ".",
		details: `{"violations":[{"pointer":"/parameters/amount","keyword":"number","reason":"INVALID_PARAMETER","message":"` + inexactMessage + `"}]}`,
	},

	// 4 prove
	{
		name: "a proof by another key", with: func(w *world, a *gatetest.Agent) call {
			other := *a
			other.Key = w.Unapproved("other").Key
			return call{intent: signed, proof: w.proof(&other, signed, "{}")}
		}, want: reason.BadSignature,
		message: "The proof of key is not valid for this request: kid: want the thumbprint (RFC 7638) of the agreed key, in the header.",
		details: `{"member":"kid","suggestion":"Create a new proof with a new jti, and set kid as the message describes."}`,
	},
	{
		name: "a proof of another call", with: func(w *world, a *gatetest.Agent) call {
			return call{intent: signed, proof: w.proof(a, find, "{}")}
		}, want: reason.PolicyRequiresVerification, message: "The proof of key is not valid for this request: digest: want the SHA-256 of the canonical " +
			`JSON (RFC 8785), in base64url without prefix and padding, of {"intent_uid", "parameters"} as sent, or of {"renew"} for a renewal.`,
		details: `{"member":"digest","suggestion":"Create a new proof with a new jti, and set digest as the message describes."}`,
	},

	// 5 decide
	{
		name: "no permission applies", call: call{intent: either, parameters: `{"purpose":"fun","paid":"no"}`}, want: reason.PolicyNotApplicable,
		message: `The closest permission requires purpose eq "research".`, details: `{"rule":"/permission/8"}`,
	},
	{
		name: "prohibited", call: call{intent: study, parameters: `{"industry":"war"}`}, want: reason.PolicyViolation,
		message: "The policy prohibits this call.", details: `{"rule":"/prohibition/0"}`,
	},
	{
		name: "permitted and prohibited at once", call: call{intent: study, parameters: `{"purpose":"research","industry":"war"}`},
		want: reason.PolicyConflict, message: "The policy both permits and prohibits this call.", details: `{"rule":"/prohibition/0"}`,
	},
	{
		name: "the operator's own rules refuse", call: call{intent: study, parameters: `{"purpose":"research","industry":"gambling"}`},
		want: reason.PolicyViolation, message: "A rule of the service that is not part of its policy prohibits this call.",
		details: `{"rule":"data.uimgate.extra.deny"}`,
	},
	{
		name: "no proof where one is asked for", call: call{intent: signed}, want: reason.PolicyRequiresVerification,
		message: "The call must carry a proof signed with the agreed key.", details: `{"rule":"/permission/5"}`,
	},
	{
		name: "no proof where a charge is due", call: call{intent: either, parameters: `{"paid":"yes"}`}, want: reason.PolicyRequiresVerification,
		message: "A call that is charged needs a proof of key.", details: `{"rule":"services[].intents.proof"}`,
	},
	{
		name: "no proof where the operator asks for one", call: call{intent: proved}, want: reason.PolicyRequiresVerification,
		message: "Each call to this intent needs a proof of key.", details: `{"rule":"services[].intents.proof"}`,
	},
	{
		name: "a static agreement, where a charge is due", agent: (*world).static, call: call{intent: either, parameters: `{"paid":"yes"}`},
		want: reason.FreshAgreementRequired, message: freshMessage, details: `{"issuer":"shop.example","policy":POLICY}`,
	},

	// 6 begin
	{
		name: "a proof used before", with: func(w *world, a *gatetest.Agent) call {
			c := call{intent: signed, proof: w.proof(a, signed, "{}")}
			w.must(a, c)
			return c
		}, want: reason.ProofReplayed,
	},
	{
		name: "an idempotency key of another call", before: func(w *world, a *gatetest.Agent) {
			w.must(a, call{intent: find, parameters: `{"q":"lamp"}`, key: "k"})
		}, call: call{intent: find, parameters: `{"q":"desk"}`, key: "k"}, want: reason.IdempotencyKeyReused, counted: 1,
	},
	{
		name: "the outcome of an earlier call is not known", before: func(w *world, a *gatetest.Agent) {
			w.closesEarly()
			_, _, _ = w.do(a, call{intent: buy, parameters: `{"product":"x"}`, key: "k"})
		}, call: call{intent: buy, parameters: `{"product":"x"}`, key: "k"}, want: reason.OutcomeUnknown,
		details: `{"execution_id":"EXECUTION"}`, owed: "0.25 held, 0.00 captured",
	},
	{
		name: "the limit is used up", before: func(w *world, a *gatetest.Agent) {
			for range 5 {
				w.must(a, call{intent: find, parameters: `{"q":"lamp"}`})
			}
		}, call: call{intent: find, parameters: `{"q":"lamp"}`}, want: reason.RateLimitExceeded, message: "The limit of 5/hour is exhausted.",
		details: `{"limit":"5/hour"}`, after: time.Hour + time.Minute, standing: "0 of 5/hour", ended: true,
	},
	{
		name: "the quota is used up", before: func(w *world, a *gatetest.Agent) {
			w.must(a, call{intent: few})
			w.must(a, call{intent: few})
		}, call: call{intent: few}, want: reason.QuotaExceeded, details: `{"limit":"2/lifetime"}`, standing: "0 of 2/lifetime",
	},
	{
		name: "all agents together reached the ceiling", before: func(w *world, _ *gatetest.Agent) {
			for range 3 {
				w.must(w.fresh(), call{intent: shared})
			}
		}, call: call{intent: shared}, want: reason.ServiceCeiling, details: `{"limit":"3/hour"}`, after: time.Hour + time.Minute,
		standing: "0 of 3/hour",
	},
	{
		name: "more than the credit", call: call{intent: dear}, want: reason.PolicyRequiresPayment,
		message: "The call costs 200.00 EUR. The agent owes 0.00 EUR of at most 10.00 EUR.",
		details: `{"payment":{"balance":"0.00","currency":"EUR","limit":"10.00","minimum":"190.00","owed":"0.00","price":"200.00",` +
			`"shortfall":"190.00"}}`,
	},

	// 7 call
	{
		name: "the upstream rejects parameters", before: func(w *world, _ *gatetest.Agent) {
			w.answers(422, "application/json", `{"message":"no such product"}`)
		}, call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamRejected, code: reason.CodeInvalidParameter,
		details: `{"outcome":"failed","upstream":{"message":"no such product","status":422}}`,
		charge:  "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
	{
		name: "the upstream finds nothing", before: func(w *world, _ *gatetest.Agent) { w.answers(404, "application/json", `{"detail":"gone"}`) },
		call: call{intent: find, parameters: `{"q":"lamp"}`}, want: reason.UpstreamRejected, code: reason.CodeNotFound,
		details:  `{"outcome":"failed","upstream":{"message":"gone","status":404}}`,
		standing: "4 of 5/hour, 9999 of 10000/hour", requests: 1, counted: 1,
	},
	{
		name: "the upstream reports a conflict", before: func(w *world, _ *gatetest.Agent) { w.answers(409, "text/plain", `sold out`) },
		call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamRejected,
		details: `{"outcome":"failed","upstream":{"status":409}}`,
		charge:  "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
	{
		name: "the upstream is busy", before: func(w *world, _ *gatetest.Agent) {
			w.answers(429, "application/json", `{"message":"later"}`, "Retry-After", "7")
		}, call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamBusy, after: 7 * time.Second,
		details: `{"outcome":"failed","upstream":{"message":"later","status":429}}`,
		charge:  "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
	{
		name: "the upstream fails", before: func(w *world, _ *gatetest.Agent) { w.answers(500, "application/json", `{"message":"canary"}`) },
		call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamError,
		details: `{"outcome":"failed","upstream":{"status":500}}`,
		charge:  "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
	{
		name: "the upstream refuses the gateway", before: func(w *world,
			_ *gatetest.Agent,
		) {
			w.answers(403, "application/json", `{"message":"canary"}`)
		},
		call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamError,
		details: `{"outcome":"failed","upstream":{"status":403}}`,
		charge:  "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
	{
		name: "the upstream breaks off", before: func(w *world, _ *gatetest.Agent) { w.closesEarly() },
		call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.UpstreamError,
		message: "The service behind the gateway closed the connection before its response was complete.", details: `{"outcome":"unknown"}`,
		charge: "0.25 EUR pending", standing: "9999 of 10000/hour", requests: 1, owed: "0.25 held, 0.00 captured",
	},

	// 8 shape
	{
		name: "the answer does not fit", before: func(w *world, _ *gatetest.Agent) { w.answers(200, "application/json", `{"ordr":"o-1"}`) },
		call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.ResponseInvalid,
		message: "The response of the service does not match the intent's output parameters.", details: `{"answer_pointer":"/order","outcome":"done"}`,
		charge: "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
	{
		name: "the answer is not JSON", before: func(w *world, _ *gatetest.Agent) { w.answers(200, "text/html", `<p>canary</p>`) },
		call: call{intent: buy, parameters: `{"product":"x"}`}, want: reason.ResponseInvalid, details: `{"outcome":"done"}`,
		charge: "0.25 EUR released", standing: "9999 of 10000/hour", requests: 1, owed: "0.00 held, 0.00 captured",
	},
}

const (
	freshMessage   = "This intent requires an agreement that cannot be replayed, or a proof of key with the call."
	inexactMessage = "the number has more digits than a proof or an idempotency key can represent exactly: send it as a string"
)

func TestRefusals(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) { c.run(t, w) })
	}
}

func (c *refusalCase) run(t *testing.T, w *world) {
	t.Helper()
	w.answers(200, "application/json", `{"items":[],"order":"o-1"}`)
	agent := c.agent
	if agent == nil {
		agent = (*world).fresh
	}
	a := agent(w)
	if c.before != nil {
		c.before(w, a)
	}
	request := c.call
	if c.with != nil {
		request = c.with(w, a)
	}
	w.requests.Store(0)
	result, refused, event := w.do(a, request)
	if refused == nil {
		t.Fatalf("got %s, want %s", result.Output, c.want)
	}
	c.check(t, w, refused)
	if got := w.requests.Load(); got != c.requests {
		t.Errorf("%d requests reached the upstream, want %d", got, c.requests)
	}
	if event.Reason != c.want || event.RequestID != "r-1" || event.Service != "default" {
		t.Errorf("the event %+v; want Reason %v, RequestID %q and Service %q", event, c.want, "r-1", "default")
	}
	if a == nil || a.ID == "" {
		return
	}
	if got := w.owed(a); got != c.owed {
		t.Errorf("owed %q, want %q", got, c.owed)
	}
	if c.ended {
		return
	}
	if got := w.counted(a); got != c.counted {
		t.Errorf("%d calls were counted, want %d", got, c.counted)
	}
}

// digest matches the digest of a policy.
var digest = regexp.MustCompile(`sha-256:[\w-]{43}`)

// executionID matches the id of an execution.
var executionID = regexp.MustCompile(`"execution_id":"[^"]+"`)

// check compares all members of a refusal with the case.
func (c *refusalCase) check(t *testing.T, w *world, got *reason.Refusal) {
	t.Helper()
	message, code, charge := c.message, c.code, ""
	if message == "" {
		message = c.want.Message()
	}
	if code == "" {
		code = c.want.Code()
	}
	if got.Reason != c.want || got.Code != code || got.Message != message || got.RetryAfter != c.after {
		t.Errorf("got %s %s %q, after %s; want %s %s %q, after %s", got.Reason, got.Code, got.Message, got.RetryAfter, c.want, code, message,
			c.after)
	}
	details, err := json.Marshal(got.Details)
	w.Must(err)
	policy, err := json.Marshal(w.service().PolicyRef())
	w.Must(err)
	want := c.details
	if want == "" {
		want = "null"
	}
	text := strings.ReplaceAll(string(details), string(policy), "POLICY")
	text = executionID.ReplaceAllString(text, `"execution_id":"EXECUTION"`)
	if text = digest.ReplaceAllString(text, "DIGEST"); text != want {
		t.Errorf("details\ngot  %s\nwant %s", text, want)
	}
	if got.Charge != nil {
		charge = got.Charge.String() + " " + got.Charge.State
	}
	if text := standing(execute.Result{}, got); charge != c.charge || text != c.standing {
		t.Errorf("got charge %q, standing %q; want %q, %q", charge, text, c.charge, c.standing)
	}
}
