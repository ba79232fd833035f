package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/notify"
	"github.com/uimgate/uimgate/gateway/service"
)

// toolsEvery is how often the tools of MCP servers are compared with the intents that call them.
const toolsEvery = time.Minute

// checkTools compares the tools of MCP servers with the intents that call them, immediately and then every minute, until ctx is done.
func (p *process) checkTools(ctx context.Context) error {
	check := func() {
		var all sync.WaitGroup
		for _, s := range p.directory.Current().Services() {
			if s.Upstream.IsMCP() {
				all.Go(func() { p.checkToolsOf(ctx, s) })
			}
		}
		all.Wait()
	}
	check()
	return every(ctx, toolsEvery, check)
}

// checkToolsOf checks the tools of one service, and logs what has changed since the previous check.
func (p *process) checkToolsOf(ctx context.Context, s *service.Service) {
	before, _ := s.Upstream.ToolsReport()
	s.Upstream.CheckTools(ctx)
	now, _ := s.Upstream.ToolsReport()
	if now.Unread != before.Unread && now.Unread != "" && ctx.Err() == nil {
		p.Log.Warn("the tools of the service cannot be listed", zap.String("service", s.ID), zap.String("cause", now.Unread))
	}
	for _, intent := range slices.Sorted(maps.Keys(now.Misfits)) {
		if why := now.Misfits[intent]; why != before.Misfits[intent] {
			p.Log.Warn("an intent no longer fits its tool", zap.String("service", s.ID), zap.String("intent", intent), zap.String("cause", why))
		}
	}
}

// toolConditions returns the Conditions of the tools of a service.
func toolConditions(s *service.Service) (found []notify.Condition) {
	report, _ := s.Upstream.ToolsReport()
	for _, intent := range slices.Sorted(maps.Keys(report.Misfits)) {
		found = append(found, notify.Condition{
			Event: config.ToolChanged, Service: s.ID, Subject: intent,
			Text: sentence(report.Misfits[intent]) + " Run uimgate init with --mcp or --mcp-command again, or change agents.json.",
		})
	}
	return found
}

// endServices ends the connections to the services and their processes.
func (p *process) endServices(ctx context.Context) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	p.directory.End(within)
}

// endTime is how long the child processes of services may take to end.
const endTime = 5 * time.Second
