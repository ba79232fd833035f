package gateway_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A refusalCase is a request that the service refuses, and the expected refusal.
type refusalCase struct {
	name string
	do   func(d *agreeTest) error
	want reason.Reason
	// message and details are the parts that the agent receives in addition to the entry in the table of reasons. POLICY replaces the
	// reference to the policy, and DIGEST replaces the digest of another policy. If message is empty, the message of the reason is expected.
	message, details string
	after            time.Duration
}

func issuing(request func(d *agreeTest) pat.IssueRequest) func(d *agreeTest) error {
	return func(d *agreeTest) error { _, err := d.issue(request(d)); return err }
}

func renewing(request func(d *agreeTest) (token, proof string)) func(d *agreeTest) error {
	return func(d *agreeTest) error { _, err := d.renew(request(d)); return err }
}

// edited requests a fresh agreement for a new agent. edit changes the claims before they are signed.
func edited(id string, edit func(*pat.AgreementClaims)) func(d *agreeTest) error {
	return issuing(func(d *agreeTest) pat.IssueRequest { return d.fresh(d.Unapproved(id), edit) })
}

// requested requests a fresh agreement for a new agent. edit changes the request after the claims are signed.
func requested(id string, edit func(*pat.IssueRequest)) func(d *agreeTest) error {
	return issuing(func(d *agreeTest) pat.IssueRequest {
		r := d.fresh(d.Unapproved(id))
		edit(&r)
		return r
	})
}

var errUnreadable = reason.MalformedRequest.Refusal("The body is not JSON.")

// refusals are the cases that share one service, in the order of its checks.
var agreeRefusals = []refusalCase{
	// issue
	{
		name: "the request cannot be read", want: reason.MalformedRequest, message: "The body is not JSON.",
		do: func(d *agreeTest) error {
			_, err := d.Agreements.Issue(d.Context(), d.call(), func() (pat.IssueRequest, error) { return pat.IssueRequest{}, errUnreadable })
			return err
		},
	},
	{
		name: "a key of no kind", do: requested("i-1", func(r *pat.IssueRequest) { r.PublicKey = "canary" }), want: reason.UnsupportedKey,
		message: "The key is not accepted: the public key is neither PEM, JWK nor base64.", details: `{"pointer":"/agent_public_key"}`,
	},
	{
		name: "a private key", want: reason.UnsupportedKey, do: requested("i-21", func(r *pat.IssueRequest) {
			r.PublicKey = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": bigEndian(make([]byte, 32)), "d": "canary"}
		}),
		message: `The key is not accepted: the JWK is a private key: it has the member "d": send only a public key, and use a new key pair, because this private key has been disclosed.`,
		details: `{"pointer":"/agent_public_key","suggestion":"Create a new key pair, because anyone who has seen the private key can ` +
			`sign as you. Send only the public members of the new JWK, or the new public key as PEM."}`,
	},
	{
		name: "a weak key", want: reason.WeakKey, details: `{"pointer":"/agent_public_key"}`,
		message: "The key is not accepted: an RSA key of 1024 bits is too weak: use 2048 to 4096.", do: issuing(func(d *agreeTest) pat.IssueRequest {
			r := d.fresh(d.Unapproved("i-2"))
			key, err := rsa.GenerateKey(rand.Reader, 1024)
			d.Must(err)
			r.PublicKey = map[string]any{"kty": "RSA", "n": bigEndian(key.N.Bytes()), "e": "AQAB"}
			return r
		}),
	},
	{
		name: "an invalid scope", do: requested("i-3", func(r *pat.IssueRequest) { r.Scope = []string{"canary"} }),
		want: reason.InvalidParameter,
		message: "The requested scope is not acceptable: an entry of a scope must be <intent_uid> or <intent_uid>:execute, with at most 300 " +
			"visible ASCII characters.",
		details: `{"pointer":"/scope","suggestion":"Omit scope to get everything that the policy permits you, or list intents in it."}`,
	},
	{
		name: "a scope of nothing", do: requested("i-20", func(r *pat.IssueRequest) { r.Scope = []string{} }),
		want: reason.InvalidParameter,
		message: "The requested scope is not acceptable: a scope must name at least one intent: omit it to request everything that the policy " +
			"permits.",
		details: `{"pointer":"/scope","suggestion":"Omit scope to get everything that the policy permits you, or list intents in it."}`,
	},
	{
		name: "an invalid agent id", do: requested("i-4", func(r *pat.IssueRequest) { r.AgentID = "a canary" }),
		want:    reason.InvalidParameter,
		message: "An agent_id must be 1 to 200 visible ASCII characters.",
	},
	{name: "not signed", do: requested("i-5", func(r *pat.IssueRequest) { r.SignedPolicy = "canary" }), want: reason.BadSignature},
	{
		name: "signed by another key", want: reason.BadSignature, do: issuing(func(d *agreeTest) pat.IssueRequest {
			r := d.fresh(d.Unapproved("i-6"))
			r.PublicKey = d.Unapproved("i-6").PublicKey
			return r
		}),
	},
	{
		name: "another agent's agreement", do: requested("i-7", func(r *pat.IssueRequest) { r.AgentID = "i-8" }), want: reason.InvalidParameter,
		message: "The agreement is not well formed: agreement: iss: want the agent_id that is sent with it.", details: `{"member":"iss","pointer":"/signed_policy"}`,
	},
	{
		name: "made for another service", do: edited("i-9", func(c *pat.AgreementClaims) { c.Audience = "bank.example" }),
		want:    reason.InvalidParameter,
		message: "The agreement is not well formed: agreement: aud: want this service's issuer, shop.example.", details: `{"member":"aud","pointer":"/signed_policy"}`,
	},
	{
		name: "made to be sent to a mirror", do: edited("i-19", func(c *pat.AgreementClaims) { c.URL = "https://mirror.example/api/pat/issue" }),
		want: reason.AgreementMisdirected, details: `{"htu":"http://127.0.0.1:8080/api/pat/issue"}`,
	},
	{
		name: "another policy", do: edited("i-10", func(c *pat.AgreementClaims) { c.PolicyDigest = "sha-256:canary" }),
		want:    reason.PolicyMismatch,
		details: `{"issuer":"shop.example","policy":POLICY,"signed_digest":"sha-256:canary"}`,
	},
	{
		name: "another uid", do: edited("i-22", func(c *pat.AgreementClaims) { c.PolicyUID = "canary" }),
		want:    reason.PolicyMismatch,
		message: `The agreement does not name the policy that the service offers now: policy.uid: want "https://shop.example/policy/1"; the digest is right.`,
		details: `{"issuer":"shop.example","member":"policy.uid","policy":POLICY,"signed_digest":"DIGEST",` +
			`"suggestion":"Correct policy.uid as the message describes, and sign again with a new jti."}`,
	},
	{
		name: "an hour old", do: edited("i-11", func(c *pat.AgreementClaims) { c.IssuedAt = c.IssuedAt.Add(-time.Hour) }),
		want: reason.AgreementStale,
	},
	{
		name: "used before", want: reason.AgreementReplayed, do: func(d *agreeTest) error {
			r := d.fresh(d.Unapproved("i-12"))
			_, err := d.issue(r)
			d.Must(err)
			_, err = d.issue(r)
			return err
		},
	},
	{
		name: "another agent's id", want: reason.AgentIDTaken, details: `{"suggested_agent_id":"SUGGESTED"}`, do: func(d *agreeTest) error {
			d.agreed("i-13")
			_, err := d.issue(d.fresh(d.Unapproved("i-13")))
			return err
		},
	},
	{
		name: "a key that has another id", want: reason.KeyTaken, details: `{"agent_id":"i-14"}`, do: func(d *agreeTest) error {
			a := d.agreed("i-14")
			a.ID = "i-15"
			_, err := d.issue(d.fresh(a))
			return err
		},
	},
	{
		name: "a blocked agent", want: reason.AgentBlocked, do: func(d *agreeTest) error {
			a := d.agreed("i-16")
			d.revoke(pat.RevokedAgent, "i-16")
			_, err := d.issue(d.fresh(a))
			return err
		},
	},
	{
		name: "nothing that is permitted",
		do:   requested("i-17", func(r *pat.IssueRequest) { r.Scope = []string{"shop.example:secret:v1:execute"} }),
		want: reason.InsufficientPermissions, message: "The policy permits this agent none of the requested intents.",
		details: `{"scope_omitted":[{"entry":"shop.example:secret:v1:execute","reason":"INSUFFICIENT_PERMISSIONS"}]}`,
	},
	{
		name: "more than was signed", want: reason.InsufficientPermissions, message: "The policy permits this agent none of the requested intents.",
		details: `{"scope_omitted":[{"entry":"` + buying + `","reason":"SCOPE_EXCEEDED"}]}`,
		do: issuing(func(d *agreeTest) pat.IssueRequest {
			r := d.fresh(d.Unapproved("i-18"), func(c *pat.AgreementClaims) { c.Scope = []string{finding} })
			r.Scope = []string{buying}
			return r
		}),
	},
	{
		name: "a charge under a static agreement", want: reason.FreshAgreementRequired, details: `{"issuer":"shop.example","policy":POLICY}`,
		do: issuing(func(d *agreeTest) pat.IssueRequest {
			r := d.static(d.Unapproved("i-19"))
			r.Scope = []string{buying}
			return r
		}),
	},
	{
		name: "a fault of the gateway", want: reason.Internal, do: func(d *agreeTest) error {
			_, err := d.Agreements.Issue(d.Context(), d.call(), func() (pat.IssueRequest, error) { panic("canary") })
			return err
		},
	},

	// renew
	{name: "no PAT to renew", do: renewing(func(*agreeTest) (string, string) { return "", "" }), want: reason.MissingToken},
	{name: "no PAT of ours", do: renewing(func(*agreeTest) (string, string) { return "x.y.z", "" }), want: reason.InvalidToken},
	{
		name: "a PAT that was revoked", want: reason.RevokedToken, do: renewing(func(d *agreeTest) (string, string) {
			a := d.agreed("r-1")
			d.revoke(pat.RevokedToken, string(d.TokenID(a)))
			return a.Token, d.proof(a)
		}),
	},
	{
		name: "a PAT of a blocked agent", want: reason.AgentBlocked, do: renewing(func(d *agreeTest) (string, string) {
			a := d.agreed("r-2")
			d.revoke(pat.RevokedAgent, "r-2")
			return a.Token, d.proof(a)
		}),
	},
	{
		name: "no proof where something charges", want: reason.PolicyRequiresVerification,
		do: renewing(func(d *agreeTest) (string, string) { return d.agreed("r-3").Token, "" }),
	},
	{
		name: "a proof of another PAT", want: reason.PolicyRequiresVerification,
		message: "The proof of key is not valid for this request: pat: want the jti of the PAT it is sent with.",
		details: `{"member":"pat","suggestion":"Create a new proof with a new jti, and set pat as the message describes."}`,
		do: renewing(func(d *agreeTest) (string, string) {
			a := d.agreed("r-4")
			token := a.Token
			issued, err := d.issue(d.fresh(a))
			d.Must(err)
			a.Token = issued.Token
			return token, d.proof(a)
		}),
	},
	{
		name: "a proof by another key", want: reason.BadSignature,
		message: "The proof of key is not valid for this request: kid: want the thumbprint (RFC 7638) of the agreed key, in the header.",
		details: `{"member":"kid","suggestion":"Create a new proof with a new jti, and set kid as the message describes."}`,
		do: renewing(func(d *agreeTest) (string, string) {
			a, b := d.agreed("r-5"), d.Unapproved("r-5")
			b.Token = a.Token
			return a.Token, d.proof(b)
		}),
	},
	{
		name: "a proof that was used", want: reason.ProofReplayed, do: func(d *agreeTest) error {
			a := d.agreed("r-6")
			first := jwt.MapClaims{"jti": strings.Repeat("n", 16)}
			next, err := d.renew(a.Token, d.proofOf(a, first))
			d.Must(err)
			a.Token = next.Token
			_, err = d.renew(a.Token, d.proofOf(a, first))
			return err
		},
	},
	{
		name: "a static agreement of yesterday", want: reason.PolicyRequiresVerification, do: renewing(func(d *agreeTest) (string, string) {
			a := d.staticallyAgreed("r-7")
			for range 24 {
				d.Later(59 * time.Minute)
				issued, err := d.renew(a.Token, "")
				d.Must(err)
				a.Token = issued.Token
			}
			d.Later(24*time.Minute + 10*time.Second) // a day, within the leeway
			return a.Token, ""
		}),
	},
	{
		name: "a PAT that ended", want: reason.ExpiredToken, do: renewing(func(d *agreeTest) (string, string) {
			a := d.agreed("r-8")
			d.Later(2 * time.Hour)
			return a.Token, d.proof(a)
		}),
	},

	// introspect
	{name: "no bearer", do: func(d *agreeTest) error { _, err := d.introspect("", "x.y.z"); return err }, want: reason.MissingToken},
	{
		name: "another agent's PAT", want: reason.InsufficientPermissions, message: "A PAT can be introspected only with the same PAT as bearer token.",
		do: func(d *agreeTest) error {
			_, err := d.introspect(d.agreed("t-1").Token, d.agreed("t-2").Token)
			return err
		},
	},
	{
		name: "a token that cannot be read", want: reason.MalformedRequest, message: "The body is not JSON.", do: func(d *agreeTest) error {
			_, err := d.Agreements.Introspect(d.Context(), d.call(), "x.y.z", func() (string, error) { return "", errUnreadable })
			return err
		},
	},
}

func TestRefusals(t *testing.T) {
	d := newAgreeTest(t, "")
	for _, c := range agreeRefusals {
		t.Run(c.name, func(t *testing.T) { c.run(t, d) })
	}
}

// A ruleCase is a refusal that requires its own settings.
type ruleCase struct {
	refusalCase
	settings string
}

var ruleCases = []ruleCase{
	{refusalCase{
		name: "an agent that is not listed", do: func(d *agreeTest) error { _, err := d.issue(d.fresh(d.Unapproved("s-1"))); return err },
		want: reason.InsufficientPermissions, message: "The operator of this service has not admitted this agent.",
	}, "pat: {admission: allowlist, allow: [NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs]}"},
	{refusalCase{
		name: "a reserved id, where only listed keys are admitted", message: "The operator of this service has not admitted this agent.",
		do:   func(d *agreeTest) error { _, err := d.issue(d.fresh(d.Unapproved("s-20"))); return err },
		want: reason.InsufficientPermissions,
	}, "pat: {admission: allowlist, allow: [{id: s-20, key: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs}]}"},
	{refusalCase{
		name: "too many ids of others", want: reason.TooManyConnections, after: 12 * time.Minute,
		message: "This address requested too many agent ids that belong to other keys.", do: func(d *agreeTest) error {
			d.agreed("s-21")
			for range 5 {
				if _, err := d.issue(d.fresh(d.Unapproved("s-21"))); refusalOf(d.T, err).Reason != reason.AgentIDTaken {
					return err
				}
			}
			from := d.from
			d.from = "192.0.2.99"
			d.agreed("s-22") // other addresses are not limited
			d.from = from
			_, err := d.issue(d.fresh(d.Unapproved("s-23")))
			return err
		},
	}, ""},
	{refusalCase{
		name: "a static agreement where fresh ones are required", want: reason.FreshAgreementRequired,
		details: `{"issuer":"shop.example","policy":POLICY}`,
		do:      func(d *agreeTest) error { _, err := d.issue(d.static(d.Unapproved("s-2"))); return err },
	}, "pat: {freshness: required}"},
	{refusalCase{
		name: "more than one caller may ask", want: reason.TooManyConnections, message: "This address sent too many agreements.",
		after: 30 * time.Second,
		do: func(d *agreeTest) error {
			a := d.agreed("s-3")
			_, err := d.renew(a.Token, d.proof(a)) // renewals have a separate bucket
			d.Must(err)
			d.agreed("s-9")
			_, err = d.Agreements.Issue(d.Context(), d.call(), func() (pat.IssueRequest, error) {
				return pat.IssueRequest{}, errors.New("it was read")
			})
			return err
		},
	}, "server: {issue_per_address: 2/minute}"},
	{refusalCase{
		name: "more agreements than may be kept", want: reason.Overloaded, after: time.Second,
		message: "Too many agents are sending agreements at the moment.",
		do: func(d *agreeTest) error {
			d.garbage()
			for n := range 100 {
				if _, err := d.issue(d.fresh(d.Unapproved(fmt.Sprintf("s-10-%d", n)))); err != nil {
					return fmt.Errorf("agreement %d: %w", n, err)
				}
			}
			_, err := d.issue(d.fresh(d.Unapproved("s-11")))
			return err
		},
	}, ""},
	{refusalCase{
		name: "more renewals than may be kept", want: reason.Overloaded, after: time.Second,
		message: "Too many agents are sending agreements at the moment.",
		do: func(d *agreeTest) error {
			d.garbage()
			a := d.agreed("s-12")
			for n := range 100 {
				issued, err := d.renew(a.Token, d.proof(a))
				if err != nil {
					return fmt.Errorf("renewal %d: %w", n, err)
				}
				a.Token = issued.Token
			}
			_, err := d.renew(a.Token, d.proof(a))
			return err
		},
	}, ""},
	{refusalCase{
		name: "the policy has changed", want: reason.PolicyRequiresAgreement,
		details: `{"agreed_digest":"DIGEST","issuer":"shop.example","policy":POLICY}`,
		do: func(d *agreeTest) error {
			a := d.agreed("s-4")
			d.Write("policy.json", strings.Replace(agreePolicy, "policy/1", "policy/2", 1))
			d.Reload()
			_, err := d.renew(a.Token, d.proof(a))
			return err
		},
	}, ""},
	{refusalCase{
		name: "an agreement to an earlier policy", want: reason.PolicyMismatch,
		details: `{"issuer":"shop.example","policy":POLICY,"signed_digest":"DIGEST"}`,
		do: func(d *agreeTest) error {
			r := d.static(d.Unapproved("s-5"))
			d.Write("policy.json", strings.Replace(agreePolicy, "policy/1", "policy/2", 1))
			d.Reload()
			_, err := d.issue(r)
			return err
		},
	}, ""},
	{refusalCase{
		name: "no store to agree in", want: reason.StoreUnavailable, after: time.Second,
		do: func(d *agreeTest) error {
			r := d.fresh(d.Unapproved("s-6"))
			d.Must(d.Store.Close())
			_, err := d.issue(r)
			return err
		},
	}, ""},
	{refusalCase{
		name: "revocations that are not known", want: reason.StoreUnavailable, after: time.Second,
		message: "The gateway cannot check at the moment which tokens were revoked.",
		do: func(d *agreeTest) error {
			a := d.agreed("s-7")
			d.Pass(time.Minute)
			_, err := d.introspect(a.Token, a.Token)
			return err
		},
	}, ""},
	{refusalCase{
		name: "no store to revoke in", want: reason.StoreUnavailable, after: time.Second,
		do: func(d *agreeTest) error {
			a := d.agreed("s-8")
			d.Must(d.Store.Close())
			return d.Agreements.Revoke(d.Context(), d.call(), a.Token)
		},
	}, ""},
}

func TestRefusalsOfRules(t *testing.T) {
	t.Parallel()
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newAgreeTest(t, c.settings))
		})
	}
}

// Each reason that the service can return has a case.
func TestEveryReasonHasACase(t *testing.T) {
	t.Parallel()
	seen := map[reason.Reason]bool{}
	for _, c := range agreeRefusals {
		seen[c.want] = true
	}
	for _, c := range ruleCases {
		seen[c.want] = true
	}
	for _, r := range []reason.Reason{
		reason.MissingToken, reason.InvalidToken, reason.ExpiredToken, reason.RevokedToken, reason.InsufficientPermissions,
		reason.PolicyRequiresAgreement,
		reason.PolicyRequiresVerification, reason.ProofReplayed, reason.AgentBlocked, reason.FreshAgreementRequired, reason.PolicyMismatch,
		reason.AgreementReplayed, reason.AgreementStale, reason.BadSignature, reason.WeakKey, reason.UnsupportedKey, reason.AgentIDTaken,
		reason.KeyTaken, reason.Overloaded, reason.InvalidParameter, reason.MalformedRequest, reason.TooManyConnections, reason.StoreUnavailable,
		reason.Internal,
	} {
		if !seen[r] {
			t.Errorf("%s has no case", r)
		}
	}
}

// garbage sends many invalid agreements and renewals, each from another address. Their limits must not affect other callers.
func (d *agreeTest) garbage() {
	d.Helper()
	from := d.from
	defer func() { d.from = from }()
	for n := range 150 {
		d.from = fmt.Sprintf("198.51.100.%d", n)
		bad := d.fresh(d.Unapproved("garbage"))
		bad.PublicKey = d.Unapproved("garbage").PublicKey
		if _, err := d.issue(bad); refusalOf(d.T, err).Reason != reason.BadSignature {
			d.Fatal(err)
		}
		if _, err := d.renew("x.y.z", ""); refusalOf(d.T, err).Reason != reason.InvalidToken {
			d.Fatal(err)
		}
	}
}

func (c *refusalCase) run(t *testing.T, d *agreeTest) {
	t.Helper()
	err := c.do(d)
	if err == nil {
		t.Fatalf("got no refusal, want %s", c.want)
	}
	f := refusalOf(t, err)
	message := c.message
	if message == "" {
		message = c.want.Message()
	}
	if f.Reason != c.want || f.Message != message || f.RetryAfter != c.after {
		t.Errorf("got %s %q, after %s; want %s %q, after %s (%v)", f.Reason, f.Message, f.RetryAfter, c.want, message, c.after, f.Unwrap())
	}
	if details := worded(t, d, f); details != c.details {
		t.Errorf("details\ngot  %s\nwant %s", details, c.details)
	}
	e := d.last()
	named := e.AgentID != "" || e.TokenID != ""
	if c.want == reason.AgentBlocked { // the only refusal whose event names the agent
		named = e.AgentID == ""
	}
	if e.Reason != c.want || e.Service != "default" || named || e.AgreementID != "" {
		t.Errorf("the event has ids of the refused request, or the wrong reason: %+v", e)
	}
	sheds := c.want == reason.Overloaded || c.want == reason.TooManyConnections || c.want == reason.StoreUnavailable
	if (e.Shed != "") != sheds {
		t.Errorf("the event has the cause %q and the reason %s", e.Shed, e.Reason)
	}
	if c.want == reason.Internal && strings.Contains(f.Unwrap().Error(), "canary") {
		t.Errorf("the value of a panic is kept: %v", f.Unwrap())
	}
}

// worded returns the details of a refusal as JSON. Placeholders replace the values that change with each run.
func worded(t *testing.T, d *agreeTest, f *reason.Refusal) string {
	t.Helper()
	if len(f.Details) == 0 {
		return ""
	}
	if _, ok := f.Details["suggested_agent_id"]; ok {
		f.Details["suggested_agent_id"] = "SUGGESTED"
	}
	details, err := json.Marshal(f.Details)
	d.Must(err)
	policy, err := json.Marshal(d.service().PolicyRef())
	d.Must(err)
	return policyDigest.ReplaceAllString(strings.ReplaceAll(string(details), string(policy), "POLICY"), "DIGEST")
}
