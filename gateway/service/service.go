// Package service holds the web services that a gateway offers to agents: the intents of each, its terms, and its upstream. Load checks
// and compiles a configuration without any state; a Directory joins the loaded services to the state of the process, serves them, and
// replaces them as a whole at a reload.
//
//	loaded, problems := service.Load(ctx, cfg, time.Now)
//	directory, err := service.Open(ctx, service.State{…}, loaded)
//	s := directory.Current().ForHost(host)
package service

import (
	"context"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A Definition is one web service as its configuration describes it: checked and compiled, without state. It is immutable.
type Definition struct {
	ID, Issuer string
	PublicURL  *url.URL
	Catalog    *intents.Catalog
	Policy     *odrl.Policy
	Extra      *odrl.Extra // the operator's own Rego; nil: none
	Upstream   *upstream.Upstream
	Doors      map[string]config.Settings // of the doors that it opens, by their keys
	License    string                     // of outputs, as a header field can hold it; empty: none
	MaxBody    int64                      // of a request, in bytes
	Hold       time.Duration              // until an unfinished call counts as unresolved
	Credit     store.Billing
	TokenRate  limit.Rate // of a PAT, in addition to the limits of the policy: pat.limit
	// SuspendAfter is how many refused attempts within one period of a limit block the agent, if the policy forbids exceeding the limit;
	// 0: none do.
	SuspendAfter int64
	// OpenAdmission: unapproved agents may agree; they share one bound on credit.
	OpenAdmission bool
	// Newcomers bounds the free calls of each intent by all of these agents together, if the intent has no ceiling.
	Newcomers limit.Rate

	intents map[string]*Intent // by uid
	offer   pat.Offer          // what agents sign
	facts   []fact
	rules   pat.Rules
	hosts   []string
}

// A Service is a Definition that is served: joined to the state of this process. It is complete when it is made, and immutable; a reload
// makes another. It is safe for concurrent use.
type Service struct {
	*Definition
	Verifier *pat.Verifier
	Issuance *pat.Issuer
	terms    *terms
}

// Offer is the policy that agents sign.
func (d *Definition) Offer() pat.Offer { return d.offer }

// PolicyRef names the policy to agree to: uid, digest and url.
func (d *Definition) PolicyRef() map[string]string {
	return map[string]string{"uid": d.offer.UID, "digest": d.offer.Digest, "url": d.At("/api/policy")}
}

// ConsentAdmission reports whether a person who consents needs an invitation of the operator, or waits for its approval.
func (d *Definition) ConsentAdmission() (invited, approved bool) {
	return d.rules.Admission == pat.AdmitAllowlist, d.rules.Admission == pat.AdmitApproval
}

// Reserved returns the agent ids that allow and parties reserve, with their keys.
func (d *Definition) Reserved() map[pat.AgentID][]keys.ID { return d.rules.Reserved() }

// At returns a published URL of this service; it never depends on the Host header.
func (d *Definition) At(path string) string { return d.PublicURL.JoinPath(path).String() }

// HelpURL returns the URL of the page that explains a reason to agents.
func (d *Definition) HelpURL(r reason.Reason) string { return d.At("/errors/" + string(r)) }

// AgentsFile returns agents.json as published with this public key.
func (d *Definition) AgentsFile(publicKey string) ([]byte, error) {
	return d.Catalog.Published(intents.Fill{
		PublicKey: publicKey, PolicyURL: d.At("/api/policy"), DiscoveryURL: d.At("/api/intents/search"),
		ExecuteURL: d.At("/api/intents/execute"), Issuer: d.Issuer,
		IssueURL: d.At("/api/pat/issue"), RenewURL: d.At("/api/pat/renew"), RevokeURL: d.At("/api/pat/revoke"),
		IntrospectURL: d.At("/api/pat/introspect"), KeysURL: d.At("/.well-known/jwks.json"), OpenAPIURL: d.At("/openapi.json"),
		ErrorsURL: d.At("/errors"), Extra: d.Announced().Members,
	})
}

// TokenLimit returns the limit of a PAT itself, unless it is one of the policy, which counts by itself. agreed returns the key of the
// agreement; it is called if the terms depend on it.
func (s *Service) TokenLimit(ctx context.Context, c *pat.Claims, agreed func() (keys.Key, error)) (*limit.Limit, error) {
	return s.terms.tokenLimit(ctx, c, agreed)
}
