// Package service holds the web services that a gateway offers to agents, each with its intents, terms and upstream. Load checks and
// compiles a configuration without any state. A Directory combines the loaded services with the state of the process and serves them; a
// reload replaces all services of the Directory together.
//
//	loaded, problems := service.Load(ctx, cfg, time.Now)
//	directory, err := service.Open(ctx, service.State{…}, loaded)
//	s := directory.Current().ForHost(host)
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

// A Definition is a web service as its configuration describes it, checked and compiled. It has no state and is immutable.
type Definition struct {
	ID, Issuer     string
	PublicURL      *url.URL
	Catalog        *intents.Catalog
	Policy         *odrl.Policy
	PolicyFile     string      // the path of the file of Policy
	AgentsFilePath string      // the path of the file of Catalog
	From           time.Time   // when Policy takes effect; zero: it has always been in force
	Extra          *odrl.Extra // the operator's own Rego; nil: none
	Upstream       *upstream.Upstream
	Doors          map[string]config.Settings // settings of the open doors, by the names of the doors
	License        string                     // license of the outputs, as the value of a header field; empty: none
	MaxBody        int64                      // maximum size of a request body, in bytes
	Credit         store.Billing
	Payments       payments.Offer // how agents can pay
	Invoices       config.Invoices
	TokenRate      limit.Rate // limit of each PAT, in addition to the limits of the policy: pat.limit
	// SuspendAfter is the number of refused attempts within one period of a limit after which the agent is blocked, if the policy forbids
	// exceeding the limit. 0: agents are never blocked.
	SuspendAfter int64
	// OpenAdmission means that unapproved agents may agree. They share one limit on credit.
	OpenAdmission bool
	// Newcomers limits the free calls to each intent by all unapproved agents together, if the intent has no ceiling.
	Newcomers limit.Rate

	// successors have other policies, and are otherwise equal. They are in the order of From.
	successors []*Definition
	changes    func() []words.Change // the changes for agents since the previous version; nil for the first version

	intents map[string]*Intent // by uid
	offer   pat.Offer          // the policy that agents sign
	world   odrl.World         // the things to which names in the policy refer
	clauses map[string]words.Clause
	facts   []fact
	rules   pat.Rules
	hosts   []string
	now     func() time.Time
}

// A Service is a Definition that the gateway serves, with the state of this process. It is immutable. A reload replaces it. On the date of
// the next policy, the successor with that policy replaces it. It is safe for concurrent use.
type Service struct {
	*Definition
	Verifier   *pat.Verifier
	Issuance   *pat.Issuer
	terms      *terms
	successors []*Service // in the order of From
	since      time.Time  // when the policy was first offered
}

// executePath is the path of the gateway to which agents send calls.
const executePath = "/api/intents/execute"

// Offer returns the policy that is in force, or that will be in force from From on.
func (d *Definition) Offer() pat.Offer { return d.offer }

// PolicyRef returns the uid, the digest and the URL of the policy to agree to.
func (d *Definition) PolicyRef() map[string]string {
	return map[string]string{"uid": d.offer.UID, "digest": d.offer.Digest, "url": d.At("/api/policy")}
}

// ConsentAdmission reports whether a person who consents needs an invitation of the operator, and whether the person must wait for the
// operator's approval.
func (d *Definition) ConsentAdmission() (invited, approved bool) {
	return d.rules.Admission == pat.AdmitAllowlist, d.rules.Admission == pat.AdmitApproval
}

// Reserved returns the agent ids that pat.allow and parties reserve, with their keys.
func (d *Definition) Reserved() map[pat.AgentID][]keys.ID { return d.rules.Reserved() }

// Name returns the name that the catalog gives the service or, without one, its issuer.
func (d *Definition) Name() string { return cmp.Or(d.Catalog.Service.Name, d.Issuer) }

// At returns the public URL of a path of this service. It does not depend on the Host header.
func (d *Definition) At(path string) string { return d.PublicURL.JoinPath(path).String() }

// HelpURL returns the URL of the page that explains a reason.
func (d *Definition) HelpURL(r reason.Reason) string { return d.At("/errors/" + string(r)) }

// AgentsFile returns agents.json as the gateway publishes it, with this public key and additional members.
func (d *Definition) AgentsFile(publicKey string, more ...intents.Extra) ([]byte, error) {
	credit := "" // the service takes no payments
	if d.Payments.X402 != nil {
		credit = d.At("/api/credit")
	}
	members := slices.Concat([]intents.Extra{
		{Name: "uim-public-key", Value: publicKey},
		{Name: "uim-policy-file", Value: d.At("/api/policy")},
		{Name: "uim-api-discovery", Value: d.At("/api/intents/search")},
		{Name: "uim-api-execute", Value: d.At(executePath)},
		{Name: "uim-issuer", Value: d.Issuer},
		{Name: "uim-pat-issue", Value: d.At("/api/pat/issue")},
		{Name: "uim-pat-renew", Value: d.At("/api/pat/renew")},
		{Name: "uim-pat-revoke", Value: d.At("/api/pat/revoke")},
		{Name: "uim-pat-introspect", Value: d.At("/api/pat/introspect")},
		{Name: "uim-jwks", Value: d.At("/.well-known/jwks.json")},
		{Name: "uim-openapi", Value: d.At("/openapi.json")},
		{Name: "uim-errors", Value: d.At("/errors")},
		{Name: "uim-protocol", Value: d.At("/docs/protocol")},
		{Name: "uim-receipts", Value: d.At("/api/receipts/") + "{execution_id}"},
		{Name: "uim-usage", Value: d.At("/api/usage/entries")},
		{Name: "uim-balance", Value: d.At("/api/balance")},
		{Name: "uim-credit", Value: credit},
	}, d.Announced().Members, more)
	if next := d.Successor(); next != nil {
		text, err := json.Marshal(next)
		if err != nil {
			return nil, fmt.Errorf("encoding the successor of the policy: %w", err)
		}
		members = append(members, intents.Extra{Name: "policy_successor", JSON: text})
	}
	return d.Catalog.Published(members)
}

// Candidates returns the permissions that can permit a call to an intent to the bearer of a PAT, in order of preference, as far as they are
// known before a call: see odrl.Policy.Terms. agreed returns the key of the agreement; Candidates calls it only if the policy names keys.
func (s *Service) Candidates(
	ctx context.Context, c *pat.Claims, uid string, agreed func() (keys.Key, error),
) ([]odrl.Candidate, error) {
	who := applicant{agentID: c.Subject, keyID: c.KeyID, plan: s.PlanOf(c)}
	if s.Policy.NamesKeys() && c.Assurance != pat.Consent {
		key, err := agreed()
		if err != nil {
			return nil, err
		}
		who.key = key.SPKI()
	}
	terms, err := s.terms.termsFor(ctx, who, uid)
	if err != nil || !terms.Permitted {
		return nil, err
	}
	return terms.Candidates, nil
}

// TokenLimit returns the limit of a PAT itself. It returns nil if that limit is also a limit of the policy, because calls are counted
// against the limits of the policy anyway. agreed returns the key of the agreement; TokenLimit calls it only if the terms depend on the
// key.
func (s *Service) TokenLimit(ctx context.Context, c *pat.Claims, agreed func() (keys.Key, error)) (*limit.Limit, error) {
	return s.terms.tokenLimit(ctx, c, agreed)
}
