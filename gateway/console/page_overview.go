package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/store"
)

func (r *request) overviewPage() error {
	ctx := r.Context()
	status := r.console.Operator.Statuses.Summary(ctx)
	p := pageView{Title: "Overview", Live: r.address(at("events"))}
	p.Sections = append(p.Sections, r.alarms(&status))
	for i := range status.Services {
		if s := &status.Services[i]; s.ID == r.service() {
			p.Sections = append(p.Sections, r.serviceSections(s)...)
		}
	}
	p.Sections = append(p.Sections, r.callSections(ctx)...)
	p.Sections = append(p.Sections, section{Title: "Gateway", Facts: facts(
		fact{"Configuration", link(status.Configuration.Hash, at("settings", "reloads"))}, fact{"Read", when(status.Configuration.TakenAt)},
		fact{"Waits for a restart", text(strings.Join(status.NeedsRestart, ", "))},
		fact{"Version", text(status.Version)}, fact{"Process", text(status.Process)}, fact{"Signing key", code(string(status.SigningKey))},
	)})
	return r.show(http.StatusOK, p)
}

// alarms are the checks of the gateway, and the stops of its operator.
func (r *request) alarms(s *status.Status) section {
	out := section{Cards: []card{
		{Label: "Ready", Value: yesNo(s.Ready), Live: "ready", Warn: !s.Ready},
		{Label: "Stops in force", Value: strconv.Itoa(len(s.Stops)), Live: "stops", Href: r.address(at("stops")), Warn: len(s.Stops) > 0},
	}}
	for _, name := range slices.Sorted(maps.Keys(s.Checks)) {
		if c := s.Checks[name]; !c.OK || c.Degraded {
			out.Lines = append(out.Lines, "Check "+name+": "+cmp.Or(c.Reason, "it failed"))
		}
	}
	out.Cards = append(out.Cards, certificates(s), reloadCard(s), r.processCard(s))
	return out
}

// certificates shows when the first certificate expires.
func certificates(s *status.Status) card {
	c := card{Label: "Certificates", Live: "certificates"}
	_, c.Warn = s.Checks["certificate"]
	switch t := s.Certificates; {
	case t == nil:
		c.Value = "no TLS"
	case t.Expires.IsZero():
		c.Value = "none yet"
	default:
		c.Value = "until " + t.Expires.UTC().Format(time.DateOnly)
	}
	if t := s.Certificates; t != nil && t.Missing > 0 {
		c.Note = fmt.Sprintf("%d names have none", t.Missing)
	}
	return c
}

// reloadCard shows whether this process uses the configuration that it read last.
func reloadCard(s *status.Status) card {
	c := card{
		Label: "Configuration", Value: fmt.Sprintf("%.12s", s.Configuration.Hash), Live: "configuration", Href: at("settings", "reloads"),
	}
	c.Note = "read " + s.Configuration.TakenAt.UTC().Format("2006-01-02 15:04 UTC")
	if s.RefusedReload != nil {
		c.Note, c.Warn = "the last reload was refused", true
	}
	return c
}

// processCard counts the running processes. It warns if one does not report, or uses a different configuration.
func (r *request) processCard(s *status.Status) card {
	c := card{Label: "Processes", Value: "?", Live: "processes", Href: r.address(at("stops"))}
	list, err := r.console.Operator.Processes.Processes(r.Context())
	if err != nil {
		return c
	}
	c.Value, c.Note, c.Warn = processFigures(list, s.Configuration)
	return c
}

// processFigures counts the running processes, and describes what is unusual about them. A report from before this process read its
// configuration does not count as another configuration: after a reload, the next report shows it.
func processFigures(list processes.Processes, used reloads.Configuration) (running, note string, warn bool) {
	n, other, silent := 0, 0, 0
	for _, p := range list.Items {
		switch {
		case !p.Running:
			silent++
		case p.Configuration != used.Hash && !p.ReportedAt.Before(used.TakenAt):
			n, other = n+1, other+1
		default:
			n++
		}
	}
	var notes []string
	for _, one := range []struct {
		n    int
		text string
	}{{other, "with another configuration"}, {silent, "no longer reporting"}, {list.Unreported, "cannot report"}} {
		if one.n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", one.n, one.text))
		}
	}
	return strconv.Itoa(n), strings.Join(notes, ", "), len(notes) > 0
}

// serviceSections are the figures of one service.
func (r *request) serviceSections(s *status.ServiceStatus) []section {
	cards := []card{
		{
			Label: "Agents that wait", Value: count(s.WaitingAgents), Live: "waiting_agents", Warn: positiveCount(s.WaitingAgents),
			Href: r.address(at("agents"), "status", string(agreements.Waiting)),
		},
		{
			Label: "Unknown outcomes", Value: count(s.Unresolved), Live: "unresolved", Warn: positiveCount(s.Unresolved),
			Href: r.address(at("money", "calls"), "state", string(store.Unresolved)),
		},
		{Label: "Calls in progress", Value: strconv.Itoa(s.UnderWay), Live: "under_way"},
		{Label: "Calls that wait", Value: strconv.Itoa(s.Waiting), Live: "waiting"},
		{Label: "Circuit breakers", Value: s.Breaker, Live: "breaker", Warn: s.Breaker != "closed"},
	}
	revenue, err := r.revenue(billing.RevenueQuery{Service: s.ID, By: string(store.ByMonth), From: r.today()})
	if err == nil {
		for _, one := range revenue.Items {
			cards = append(cards, card{
				Label: "Money today", Value: one.Net + " " + one.Currency,
				Note: fmt.Sprintf("%d calls, %s refunded, at %s", one.Calls, one.Refunded, revenue.at.UTC().Format("15:04 UTC")),
				Href: r.address(at("money")),
			})
		}
	}
	if err == nil && len(revenue.Items) == 0 {
		cards = append(cards, card{Label: "Money today", Value: "0", Href: r.address(at("money"))})
	}
	out := section{Title: "Service " + s.ID, Cards: cards, Facts: facts(
		fact{"Public URL", text(s.PublicURL)}, fact{"API", text(s.Upstream)},
		fact{"Policy", link(s.Policy.UID, r.address(at("policy")))}, fact{"Intents", link(strconv.Itoa(s.Intents), r.address(at("catalogue")))},
	)}
	for _, intent := range slices.Sorted(maps.Keys(s.Breakers)) {
		out.Lines = append(out.Lines, "The breaker of "+intent+" is "+s.Breakers[intent]+".")
	}
	if len(s.Unread) > 0 {
		out.Lines = append(out.Lines, "The store could not be read for: "+strings.Join(s.Unread, ", ")+".")
	}
	return []section{out}
}

func count(n *int64) string {
	switch {
	case n == nil:
		return "?"
	case *n >= store.MostCounted:
		return strconv.FormatInt(*n, 10) + " or more"
	default:
		return strconv.FormatInt(*n, 10)
	}
}

func positiveCount(n *int64) bool { return n == nil || *n > 0 }
