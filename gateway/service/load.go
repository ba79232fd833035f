package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/payments/x402"
	"github.com/uimgate/uimgate/store"
)

// A LoadedConfig is a completely checked and compiled configuration: serving it reveals no further configuration errors. It has no state
// and no connections yet.
type LoadedConfig struct {
	definitions []*Definition
	server      Settings
	hash        string
}

// Definitions returns the loaded services, in the order of the configuration.
func (l *LoadedConfig) Definitions() []*Definition { return l.definitions }

// settleTime is how long after the timeout of its upstream request a call can still be settled by the process that made it.
const settleTime = 30 * time.Second

const (
	// placeWait is how long a call waits for a place if too many calls are in progress.
	placeWait = 2 * time.Second
	// spareConns is the number of connections in addition to those of calls: for reconciliation, and for connections that are being closed.
	spareConns = 32
)

// Load checks and compiles a configuration and all files that it names. The LoadedConfig is nil if and only if one of the problems is an
// error; the other problems are warnings.
func Load(ctx context.Context, c *config.Config, now func() time.Time) (*LoadedConfig, config.Problems) {
	l := &loadState{ctx: ctx, config: c, now: now, offer: offerOf(&c.Payments)}
	settings := Settings{
		Proxies: c.Server.TrustedProxies, Metrics: c.Telemetry.Metrics, AdminHosts: c.Admin.Hosts, Console: c.Admin.Console,
		Playground: c.Admin.Playground, TraceURL: c.Telemetry.TraceURL,
	}
	out := &LoadedConfig{server: settings, hash: configHash(c)}
	for i := range c.Services {
		if s := l.service(i); s != nil {
			out.definitions = append(out.definitions, s)
		}
	}
	l.issuers(out.definitions)
	l.certificate()
	if l.problems.Failed() {
		return nil, l.problems
	}
	return out, l.problems
}

// certificate adds a warning if clients reject the certificate because of its validity period.
func (l *loadState) certificate() {
	pair := l.config.Server.TLS.Certificate()
	if pair == nil {
		return
	}
	if text := config.CertificateProblem(pair, l.now()); text != "" {
		l.problems = append(l.problems, l.config.Problemf(problem.Warning, "server.tls.cert", "%s", text))
	}
}

type loadState struct {
	ctx      context.Context //nolint:containedctx // lives as long as one Load
	config   *config.Config
	now      func() time.Time
	problems config.Problems
	offer    payments.Offer // how agents pay; the same for all services
}

// found adds the problems of the document f, with their positions, and reports whether one of them is an error.
func (l *loadState) found(f config.File, problems problem.List) (failed bool) {
	for _, p := range problems {
		find := strictjson.Position
		if p.Code == "json" {
			find = strictjson.Place
		}
		line, column := find(f.Data, p.Pointer)
		message := p.Message
		if p.Pointer != "" {
			message = p.Pointer + ": " + message
		}
		l.problems = append(l.problems, config.Problem{File: f.Path, Line: line, Column: column, Level: p.Level, Message: message})
	}
	return problems.Failed()
}

// wrong adds an error in the configuration itself, at one key of one service.
func (l *loadState) wrong(service int, key, format string, args ...any) {
	l.problems = append(l.problems, l.config.Problemf(problem.Error, fmt.Sprintf("services[%d].%s", service, key), format, args...))
}

func (l *loadState) service(at int) *Definition {
	c := &l.config.Services[at]
	endpoint := ""
	if !c.PublishUpstream || c.Upstream.MCP.IsSet() {
		endpoint = c.PublicURL.JoinPath(executePath).String()
	}
	catalog, problems := intents.Parse(c.AgentsFile.Data, intents.Options{
		Strict: true, Now: l.now(), Endpoint: endpoint, Hidden: func(in *intents.Intent) []string { return fix(in, c).hidden },
		Timeout: func(in *intents.Intent) time.Duration { return statedTimeout(c, in.UID.String()) },
	})
	if l.found(c.AgentsFile, problems) {
		return nil
	}
	if len(catalog.Intents()) == 0 {
		l.wrong(at, "agents_file", "%s contains no intents", c.AgentsFile.Path)
		return nil
	}
	s := &Definition{
		ID: c.ID, Issuer: c.IssuerOr(catalog.Namespaces()[0]), PublicURL: c.PublicURL, Catalog: catalog, AgentsFilePath: c.AgentsFile.Path,
		License: licenseField(catalog.License),
		MaxBody: l.config.Server.MaxBody, TokenRate: l.config.PAT.Limit,
		SuspendAfter: int64(l.config.PAT.SuspendAfter), OpenAdmission: l.config.PAT.Admission == config.AdmissionOpen,
		Newcomers: l.config.PAT.Newcomers,
		Credit: store.Billing{
			Prepaid: l.config.Billing.Mode == config.Prepaid, Credit: l.config.Billing.Credit, Newcomers: l.config.Billing.Newcomers,
		},
		Payments: l.offer, Invoices: c.Invoices,
		Doors: c.OpenDoors(), intents: map[string]*Intent{}, hosts: c.Hosts, now: l.now,
	}
	s.rules = issuanceRules(s, c, &l.config.PAT)
	for iri, party := range c.Parties {
		if party.Key == "" { // without a key, the first agent that agrees could become the party
			l.wrong(at, fmt.Sprintf("parties[%q]", iri), "the agent's key is missing: set key to its RFC 7638 thumbprint, which uimgate agent keygen prints")
		}
	}
	if !l.upstream(s, at) || !l.offerIntents(s, at) || !l.rego(s, c) {
		return nil
	}
	return l.versions(s, at)
}

func (l *loadState) upstream(s *Definition, at int) bool {
	c := &l.config.Services[at]
	hosts := slices.Clone(c.Hosts)
	if u, err := url.Parse(s.Catalog.Service.URL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Hostname())
	}
	up := c.Upstream
	made, err := upstream.New(upstream.Config{
		URL: up.URL, MCP: toolsOf(&up.MCP), Execute: up.Execute, AllowedHosts: hosts, Timeout: up.Timeout, MaxResponse: up.MaxResponse,
		IdempotencyHeader: up.IdempotencyHeader, ErrorMessage: up.ErrorMessage,
		Reconcile: up.Reconcile, ReconcileFixed: fixedOfQuestion(c), AuthHeaders: up.Auth.Sent, OAuth2: up.Auth.OAuth2, Breaker: up.Breaker,
		Retry:  upstream.Retry{Attempts: 3, Wait: 50 * time.Millisecond, MaxWait: time.Second},
		Places: fairqueue.Bounds{Places: up.Concurrency, Waiting: up.Concurrency, Wait: placeWait},
		Pool: upstream.Pool{
			MaxConns: up.Concurrency + spareConns, MaxIdle: 256, IdleTimeout: time.Minute, DialTimeout: 5 * time.Second,
		},
		Now: l.now,
	})
	if err != nil {
		l.wrong(at, "upstream", "%v", err)
		return false
	}
	s.Upstream = made
	return true
}

// toolsOf returns the MCP server behind a service, or nil if the service is an HTTP API.
func toolsOf(c *config.MCPServer) *upstream.MCP {
	if !c.IsSet() {
		return nil
	}
	m := &upstream.MCP{Command: mcp.Command{Path: c.Command, Args: c.Args, Dir: c.Dir}, Sessions: c.Sessions}
	m.Command.Env, m.Secrets = c.Environment()
	return m
}

func (l *loadState) offerIntents(s *Definition, at int) bool {
	c := &l.config.Services[at]
	ok := true
	uids := make([]string, 0, len(s.Catalog.Intents()))
	applied := map[string]bool{}
	for i, in := range s.Catalog.Intents() {
		uid := in.UID.String()
		uids = append(uids, uid)
		offered := &Intent{Intent: in, ID: uid, Version: in.UID.Version, Newcomers: limit.OfNewcomers(uid, s.Newcomers)}
		if settings, set := c.Intents[uid]; set {
			offered.FreshOnly, offered.Ceiling = settings.Agreement == config.AgreementFresh, settings.Ceiling
			offered.Proof, offered.ConfirmAlways = settings.Proof, settings.Confirm == config.ConfirmAlways
		}
		offered.Hold = c.TimeoutOf(uid) + settleTime
		offered.Lenient = answersOf(c, uid) == config.AnswersLenient
		s.intents[uid] = offered
		fixed := fix(in, c)
		ok = l.fixedProblems(at, uid, fixed) && ok
		for _, path := range fixed.applied {
			applied[path] = true
		}
		if in.Retired {
			continue
		}
		route, err := routeFor(s.Upstream, in, fixed, errorWhenOf(c, uid), c.TimeoutOf(uid))
		if err != nil {
			ok = false
			l.found(c.AgentsFile, problem.List{{
				Level: problem.Error, Code: "endpoint", Pointer: fmt.Sprintf("/intents/%d", i),
				Message: uid + ": " + err.Error(),
			}})
			continue
		}
		offered.Route = route
	}
	for uid := range c.Intents {
		if s.intents[uid] == nil {
			ok = false
			l.wrong(at, fmt.Sprintf("intents[%q]", uid), "%s contains no such intent%s", c.AgentsFile.Path, didYouMean(suggest.Name(uid, uids)))
		}
	}
	for _, path := range wideValues(c) {
		if !applied[path] {
			l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].%s", at, path),
				"no intent has a place for this value"))
		}
	}
	return ok
}

// statedTimeout returns the time limit of an intent that agents.json states, or 0 if agents wait long enough without it.
func statedTimeout(c *config.Service, uid string) time.Duration {
	if d := c.TimeoutOf(uid); c.Intents[uid].Timeout > 0 || d > intents.UsualTimeout {
		return d
	}
	return 0
}

// answersOf returns how strictly the responses of an intent are checked against its outputs.
func answersOf(c *config.Service, uid string) config.Answers {
	if own := c.Intents[uid].Answers; own != "" {
		return own
	}
	return c.Answers
}

// errorWhenOf returns the condition that makes a response of an intent a refusal.
func errorWhenOf(c *config.Service, uid string) config.ErrorWhen {
	if e := c.Intents[uid].ErrorWhen; e.Pointer != "" {
		return e
	}
	return c.ErrorWhen
}

// fixedProblems adds the errors in the fixed values of an intent. It returns true if there are none.
func (l *loadState) fixedProblems(at int, uid string, f *fixedInputs) (ok bool) {
	for _, p := range f.problems {
		if p.own {
			l.wrong(at, fmt.Sprintf("intents[%q].%s", uid, p.path), "%s", p.message)
			continue
		}
		l.wrong(at, p.path, "in %s: %s", uid, p.message)
	}
	return len(f.problems) == 0
}

func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// issuers adds an error for each service that has the same issuer as an earlier one, because the two would accept each other's PATs.
func (l *loadState) issuers(services []*Definition) {
	seen := map[string]string{}
	for i, s := range services {
		if other, taken := seen[s.Issuer]; taken {
			l.wrong(i, "issuer", "services %s and %s have the same issuer %q: set services[].issuer", other, s.ID, s.Issuer)
		}
		seen[s.Issuer] = s.ID
	}
}

// issuanceRules returns the rules of a service for issuing PATs.
func issuanceRules(s *Definition, c *config.Service, p *config.PAT) pat.Rules {
	rules := pat.Rules{
		Service: s.ID, Issuer: s.Issuer, PolicyURL: s.At("/api/policy"),
		IssueURLs: []string{s.At("/api/pat/issue"), s.At("/pat/issue")}, TTL: p.TTL, Leeway: p.Leeway, Grace: p.RenewGrace,
		Freshness: pat.Freshness(p.Freshness), Admission: pat.Admission(p.Admission),
	}
	rules.IssueURLs = append(rules.IssueURLs, s.Announced().IssueURLs...)
	for _, a := range p.Allow {
		rules.Allow = append(rules.Allow, pat.Known{AgentID: pat.AgentID(a.AgentID), KeyID: keys.ID(a.Key)})
	}
	for _, party := range c.Parties {
		rules.Parties = append(rules.Parties, pat.Known{AgentID: pat.AgentID(party.AgentID), KeyID: keys.ID(party.Key)})
	}
	return rules
}

// configHash returns an identifier of a configuration: the SHA-256 over the digests of its files, except those that contain secrets.
func configHash(c *config.Config) string {
	h := sha256.New()
	for _, f := range c.Digests() {
		h.Write([]byte(f.SHA256))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// offerOf returns the ways in which agents can pay.
func offerOf(c *config.Payments) payments.Offer {
	o := payments.Offer{Minimum: c.Minimum, Maximum: c.Maximum, TopUpURL: c.TopUpURL, Contact: c.Contact}
	if hook := c.Webhook; !hook.Secret.IsEmpty() {
		o.Webhook = payments.NewWebhook(hook.Secret.Reveal(), hook.Tolerance)
	}
	if c.X402.Facilitator != nil {
		o.X402 = &payments.X402{Terms: c.X402.Terms(), Facilitator: x402.NewFacilitator(c.X402.Options())}
	}
	return o
}
