package upstream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
)

// A ToolsReport compares the tools of an MCP server with the intents that call them.
type ToolsReport struct {
	At        time.Time         // when the list of tools was last requested; zero: never
	Tools     int               // number of tools in the last list that could be read
	Unread    string            // why the list could not be read; empty: it was read
	Misfits   map[string]string // what is wrong with a tool, by the uid of the intent that calls it
	Processes mcp.State
}

// toolsReport is the state of CheckTools.
type toolsReport struct {
	last  ToolsReport
	first map[string]string // digest of each tool when it was first listed
}

// IsMCP reports whether the service is an MCP server.
func (u *Upstream) IsMCP() bool { return u.server != nil }

// Tools returns the tools of the server. Call it only if IsMCP returns true.
func (u *Upstream) Tools(ctx context.Context) ([]mcp.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout)
	defer cancel()
	return u.server.Tools(ctx)
}

// CheckTools requests the list of tools and compares it with the intents, for ToolsReport. Call it only if IsMCP returns true.
func (u *Upstream) CheckTools(ctx context.Context) {
	tools, err := u.Tools(ctx)
	u.routing.Lock()
	defer u.routing.Unlock()
	r := &u.report.last
	r.At = u.cfg.Now()
	if err != nil {
		r.Unread = UnreadTools(err)
		return
	}
	r.Unread, r.Tools, r.Misfits = "", len(tools), map[string]string{}
	if u.report.first == nil {
		u.report.first = map[string]string{}
	}
	offered := map[string]*mcp.Tool{}
	for i := range tools {
		offered[tools[i].Name] = &tools[i]
	}
	for _, route := range u.routes {
		if why := u.misfit(route, offered[route.tool]); why != "" {
			r.Misfits[route.intent] = why
		}
	}
}

// misfit returns why calls of a route do not fit its tool, or "" if they do.
func (u *Upstream) misfit(r *Route, t *mcp.Tool) string {
	if t == nil {
		return "the server has no tool " + r.tool
	}
	takes, requires, open := t.Properties()
	for _, name := range requires {
		if _, fixed := r.fixed.Body[name]; !fixed && !r.declared[name] {
			if !mcp.IsToolName(name) { // the name may be long, or contain anything
				name = "another argument"
			}
			return "the tool " + r.tool + " requires " + name + ", which the intent does not have"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.declared)) {
		if !open && !slices.Contains(takes, name) {
			return "the tool " + r.tool + " does not take " + name
		}
	}
	first, seen := u.report.first[r.tool]
	if !seen {
		u.report.first[r.tool] = t.Digest
	}
	if seen && first != t.Digest {
		return "the schema of the tool " + r.tool + " has changed since the configuration was loaded"
	}
	return ""
}

// ToolsReport returns the result of the last CheckTools. It returns false if the service is not an MCP server.
func (u *Upstream) ToolsReport() (ToolsReport, bool) {
	if u.server == nil {
		return ToolsReport{}, false
	}
	u.routing.Lock()
	defer u.routing.Unlock()
	r := u.report.last
	r.Misfits, r.Processes = maps.Clone(r.Misfits), u.server.State()
	return r, true
}

// UnreadTools describes why the list of tools could not be read, without anything that the server sent.
func UnreadTools(err error) string {
	if refused, ok := errors.AsType[*mcp.StatusError](err); ok {
		return (&StatusError{Status: refused.Reply.Status}).Error()
	}
	for _, known := range []error{mcp.ErrTooLong, mcp.ErrNoResponse, mcp.ErrNotMCP, mcp.ErrRevision, mcp.ErrNotRunning, mcp.ErrTools} {
		if errors.Is(err, known) {
			return err.Error()
		}
	}
	if _, ok := errors.AsType[*mcp.Error](err); ok {
		return err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrTimeout.Error()
	}
	return failure(ErrUnreachable, err).Error()
}
