package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// Health reports whether calls should be sent to this process.
type Health struct {
	Ready         bool                  `json:"ready"`
	Draining      bool                  `json:"draining"` // the process is shutting down
	Checks        map[string]Check      `json:"checks"`
	Configuration reloads.Configuration `json:"configuration"`
}

// A Check is the state of one condition for being ready.
type Check struct {
	OK bool `json:"ok"`
	// Degraded means that the gateway continues to work despite a failure.
	Degraded bool   `json:"degraded,omitempty"`
	Reason   string `json:"reason,omitempty"` // the error or degradation
}

// Status describes the services of the gateway, and its health.
type Status struct {
	Health
	Version    string          `json:"version,omitempty"` // release of the program that responds
	Process    string          `json:"process,omitempty"` // the name of this process in keys list
	SigningKey keys.ID         `json:"signing_key"`       // kid
	Services   []ServiceStatus `json:"services"`
	// NeedsRestart lists the changed settings that take effect only after a restart.
	NeedsRestart []string `json:"needs_restart,omitempty"`
	// RefusedReload is the last reload if it was refused. The previous configuration is then still in use.
	RefusedReload *reloads.RefusedReload `json:"refused_reload,omitempty"`
	// Certificates describes the certificates of the listeners; nil: they serve http.
	Certificates *CertificateStatus `json:"certificates,omitempty"`
	// Stops are the stops in force, as this process has read them, the newest first.
	Stops []processes.Stop `json:"stops,omitempty"`
	// HeldLimits are the limits that are held back because of a restore or a step of the clock.
	HeldLimits *HeldLimits `json:"held_limits,omitempty"`
	// Log is the state of the logs of the ledger; nil if there are none, or if it cannot be read.
	Log *LogStatus `json:"log,omitempty"`
}

// A CertificateStatus describes the certificates of the listeners.
type CertificateStatus struct {
	ACME bool `json:"acme"` // a CA issues and renews them; otherwise they are files
	// Expires is when the first of them expires; the zero time: none.
	Expires time.Time `json:"expires,omitzero"`
	Missing int       `json:"missing,omitempty"` // names without a certificate
}

// A ServiceStatus is the state of one service.
type ServiceStatus struct {
	ID        string          `json:"id"`
	Issuer    string          `json:"issuer"`
	PublicURL string          `json:"public_url"`
	Upstream  string          `json:"upstream"` // scheme://host:port of the API behind the gateway
	Policy    policies.Policy `json:"policy"`
	// Successors are the policies that take effect later.
	Successors []policies.Policy `json:"successors,omitempty"`
	Intents    int               `json:"intents"`
	Breaker    string            `json:"breaker"` // closed, half-open or open: the worst state of all intents
	// Breakers are the states of the circuit breakers that are not closed, by intent.
	Breakers map[string]string `json:"breakers,omitempty"`
	// UnapprovedBreakers are the states of the separate breakers for unapproved agents. They do not affect approved agents.
	UnapprovedBreakers map[string]string `json:"stranger_breakers,omitempty"`
	// HeldBack is the number of agents whose calls to an intent are held back because only their calls fail. An agent counts once for each
	// such intent.
	HeldBack int `json:"held_back,omitempty"`
	// Concealed counts the responses, by intent, that contained a credential or a fixed value, which the gateway concealed. It counts from
	// the time when the configuration was applied.
	Concealed map[string]int64 `json:"concealed,omitempty"`
	// Tools is the state of the tools of an MCP server; nil if the service is an HTTP API.
	Tools    *ToolsStatus `json:"tools,omitempty"`
	UnderWay int          `json:"under_way"` // calls in progress
	Waiting  int          `json:"waiting"`   // calls that wait to be sent
	// WaitingAgents is the number of agents that have agreed and are waiting for approval. Unresolved is the number of charges of calls of
	// unknown outcome. Each is at most store.MostCounted. nil means that the number cannot be read.
	WaitingAgents *int64 `json:"waiting_agents" jsonschema:"nullable"`
	Unresolved    *int64 `json:"unresolved_charges" jsonschema:"nullable"`
	// Unclaimed is the number of payments that cannot be entered before the operator decides, at most store.MostCounted. It is 0 if the number
	// cannot be read.
	Unclaimed int64 `json:"unclaimed_payments,omitempty"`
	// Newcomers is the common credit of unapproved agents; nil if they have none, or if it cannot be read.
	Newcomers *NewcomersPool `json:"newcomers_pool,omitempty"`
	// Unread are the names of the members that cannot be read from the store.
	Unread []string `json:"unread,omitempty"`
	// Engine is the engine that evaluates the policy: a compiled plan or, more slowly, OPA. EngineReason is why OPA evaluates the policy.
	Engine       string `json:"engine"`
	EngineReason string `json:"engine_reason,omitempty"`
	// HeldByOthers lists the reserved agent ids that belong to other keys: see the function HeldByOthers.
	HeldByOthers []pat.AgentID `json:"held_by_others,omitempty"`
	// Doors are the other protocols that agents can use.
	Doors []door.Status `json:"doors"`
}

// A ToolsStatus compares the tools of an MCP server with the intents that call them.
type ToolsStatus struct {
	At     *time.Time `json:"at,omitempty"` // when the tools were last requested; nil: not yet
	Listed int        `json:"listed"`       // number of tools in the last list
	// Unread is why the tools cannot be listed; empty: they can.
	Unread string `json:"unread,omitempty"`
	// Misfits are the reasons why intents do not fit their tools, by intent.
	Misfits map[string]string `json:"misfits,omitempty"`
	// Running and Restarts count the processes of the server, if the gateway starts it. Ended is why a process last ended.
	Running  int    `json:"running,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	Ended    string `json:"ended,omitempty"`
}

func toolsStatus(u *upstream.Upstream) *ToolsStatus {
	r, ok := u.ToolsReport()
	if !ok {
		return nil
	}
	s := &ToolsStatus{
		Listed: r.Tools, Unread: r.Unread, Misfits: r.Misfits,
		Running: r.Processes.Running, Restarts: r.Processes.Restarts, Ended: r.Processes.Failure,
	}
	if !r.At.IsZero() {
		s.At = &r.At
	}
	return s
}

// readiness caches the result of the check that the store is writable for readyFor, because the check costs a disk flush and anyone who can
// reach the listener may request it.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

const readyFor = time.Second

func (c *readiness) store(ctx context.Context, now time.Time, check func(context.Context) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.at).Abs(); c.at.IsZero() || age >= readyFor {
		c.err, c.at = check(context.WithoutCancel(ctx)), now
	}
	return c.err
}

// stored returns the check of the store. If the state was set back or moved to another server, the process remains ready, but the check is
// degraded so that the operator investigates.
func stored(err error, back store.SetBack, moved bool) Check {
	switch {
	case err != nil:
		return Check{Reason: "the store cannot be written to"}
	case !back.At.IsZero():
		reason := "the database was found in an earlier state at " + back.At.UTC().Format(time.RFC3339) +
			": limits are held back, see uimgate status"
		if back.Missing > 0 {
			reason += fmt.Sprintf(", and at least %d commits of this process are missing", back.Missing)
		}
		return Check{OK: true, Degraded: true, Reason: reason}
	case moved:
		return Check{OK: true, Degraded: true, Reason: "the server or the timeline of the database has changed: the log states what to do"}
	}
	return Check{OK: true}
}

// Drain makes Health report that this process is shutting down, so that it gets no new calls. The process continues to answer calls.
func (o *Operations) Drain() { o.draining.Store(true) }

// Health reports whether calls should be sent to this process.
func (o *Operations) Health(ctx context.Context) Health {
	now, snapshot := o.Now(), o.Services.Directory.Current()
	check := func(ok bool, reason string) Check {
		if ok {
			reason = ""
		}
		return Check{OK: ok, Reason: reason}
	}
	err := o.readiness.store(ctx, now, o.Store.Ready)
	if err != nil {
		o.Log.Warn("not ready", zap.Error(wire.Loggable(err)))
	}
	h := Health{
		Ready: true, Draining: o.draining.Load(),
		Configuration: reloads.Configuration{Hash: snapshot.Hash, TakenAt: snapshot.TakenAt.UTC()},
	}
	h.Checks = map[string]Check{
		"store":       stored(err, o.Store.SetBack(), o.Store.ServerChanged()),
		"revocations": check(o.View.Fresh(now), "the view of revocations is out of date"),
		"audit":       o.audited(),
		"serving":     check(!h.Draining, "the process is shutting down"),
		// Anyone may request /readyz, so the check does not name the problems.
		"configuration": {OK: true},
	}
	if refused := o.RefusedReload(); refused != nil {
		h.Checks["configuration"] = Check{
			OK: true, Degraded: true,
			Reason: "the reload at " + refused.At.Format(time.RFC3339) + " was refused; the previous configuration is in use: see uimgate status",
		}
	}
	if o.Keys.Failure() != nil {
		h.Checks["signing_key"] = Check{
			OK: true, Degraded: true, Reason: "the signing key was retired and cannot be replaced, so no PAT can be issued: see the log",
		}
	}
	if reason := o.Certificate(); reason != "" {
		h.Checks["certificate"] = Check{OK: true, Degraded: true, Reason: reason}
	}
	if reason := o.LogTrouble(); reason != "" {
		h.Checks["log"] = Check{OK: true, Degraded: true, Reason: reason}
	}
	if reason := o.LedgerTrouble(); reason != "" {
		h.Checks["ledger"] = Check{OK: true, Degraded: true, Reason: reason}
	}
	for _, c := range h.Checks {
		h.Ready = h.Ready && c.OK
	}
	return h
}

// audited returns the check of the audit stream. A failure makes the gateway unready only if calls require audit records.
func (o *Operations) audited() Check {
	if o.Audit == nil {
		return Check{OK: true}
	}
	err := o.Audit.Outage()
	if err == nil {
		return Check{OK: true}
	}
	cause := "the file cannot be written to"
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		cause = number.Error()
	}
	required := o.Audit.Required()
	return Check{OK: !required, Degraded: !required, Reason: "audit records cannot be written: " + cause}
}

// Status returns the services of the gateway, and its health. Figures that the store cannot return are nil, and their names are in Unread.
// It reads the account of each unapproved agent that has a debt, which takes long if there are many.
func (o *Operations) Status(ctx context.Context) (Status, error) {
	out := o.status(ctx, o.readBacklog, o.readHolders, o.readPool)
	if state, err := o.LogState(ctx); err == nil {
		out.Log = state
	}
	return out, nil
}

// Summary returns the members of Status that can be read fast from a database of any size: Log, HeldByOthers and Newcomers are nil.
func (o *Operations) Summary(ctx context.Context) Status { return o.status(ctx, o.readBacklog) }

// LocalStatus returns the members of Summary that this process has in memory: WaitingAgents and Unresolved are nil, and Unclaimed is 0.
// Like Health, it checks that the store is writable.
func (o *Operations) LocalStatus(ctx context.Context) Status { return o.status(ctx) }

// status returns the members of Status that this process has in memory, and those of each service that the given functions set.
func (o *Operations) status(ctx context.Context, reads ...func(context.Context, *service.Service, *ServiceStatus)) Status {
	out := Status{
		Health: o.Health(ctx), Version: o.Version, Process: o.Keys.Process(),
		SigningKey: o.Keys.Current(), NeedsRestart: o.NeedsRestart(),
		RefusedReload: o.RefusedReload(), Certificates: o.Certificates(), HeldLimits: heldLimits(o.Store.HeldLimits()),
	}
	for _, s := range slices.SortedFunc(slices.Values(o.View.Stops()), func(a, b pat.Stop) int { return b.At.Compare(a.At) }) {
		out.Stops = append(out.Stops, processes.ShowStop(s))
	}
	for _, s := range o.Services.Directory.Current().Services() {
		one := o.serviceStatus(s)
		for _, read := range reads {
			read(ctx, s, &one)
		}
		out.Services = append(out.Services, one)
	}
	return out
}

// serviceStatus returns the members of a ServiceStatus that this process has in memory.
func (o *Operations) serviceStatus(s *service.Service) ServiceStatus {
	policies := policies.Offered(s)
	engine, reason := s.Policy.Engine()
	breakers, strangers, heldBack := s.Upstream.Breakers()
	underWay, waiting := s.Upstream.UnderWay()
	return ServiceStatus{
		ID: s.ID, Issuer: s.Issuer, PublicURL: s.PublicURL.String(), Upstream: s.Upstream.Address(),
		Policy: policies[0], Successors: policies[1:],
		Intents: len(s.Catalog.Intents()), Breaker: worst(breakers, strangers), Breakers: breakers, HeldBack: heldBack,
		UnapprovedBreakers: strangers, Concealed: s.Upstream.Concealed(), Tools: toolsStatus(s.Upstream),
		UnderWay: underWay, Waiting: waiting, Engine: string(engine), EngineReason: reason, Doors: door.Statuses(o.Doors, s),
	}
}

// worst returns the worst state of breakers: open, half-open or, if the maps are empty, closed.
func worst(notClosed ...map[string]string) string {
	state := "closed"
	for _, states := range notClosed {
		for _, s := range states {
			if s == "open" {
				return s
			}
			state = s
		}
	}
	return state
}
