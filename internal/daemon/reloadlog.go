package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/store"
)

// reloadNoteTime bounds the time in which a reload is recorded.
const reloadNoteTime = 5 * time.Second

// noteReload records a reload for operators. A reload that is not an operation of an operator is recorded only if it was refused or changed
// something.
func (p *process) noteReload(ctx context.Context, r reloads.ReloadRecord) {
	if c, ok := api.CallerOf(ctx); ok {
		r.Cause, r.By, r.Via = reloads.ReloadByRequest, c.Name, c.Via
	} else if r.Applied && r.Before == r.Hash && r.Cause != reloads.ReloadByRetirement {
		return
	}
	if r.MoreSettings = max(0, len(r.Settings)-reloads.MostReloadNames); r.MoreSettings > 0 {
		r.Settings = r.Settings[:reloads.MostReloadNames]
	}
	r.Services = r.Services[:min(len(r.Services), reloads.MostReloadNames)]
	r.At, r.Process = p.Now().UTC(), processName()
	text, err := json.Marshal(r)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reloadNoteTime)
	defer cancel()
	if err == nil {
		err = p.store.AddReload(ctx, store.Reload{At: r.At, Process: r.Process, Record: text})
	}
	if err != nil {
		p.Log.Warn("the reload could not be recorded for operators", zap.Error(wire.Loggable(err)))
	}
}

// noteStart records that the process has started with a configuration that differs from that of the newest record.
func (p *process) noteStart(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reloadNoteTime)
	defer cancel()
	last := reloads.ReloadRecord{}
	list, err := p.operator.Reloads.Reloads(ctx)
	for _, r := range list.Items {
		if r.Applied {
			last = r
			break
		}
	}
	if hash := p.directory.Current().Hash; err == nil && last.Hash != hash {
		p.noteReload(ctx, reloads.ReloadRecord{Cause: reloads.ReloadByStart, Applied: true, Hash: hash})
	}
}

// compare returns what a reload changed in the settings and the services.
func compare(was, is *config.Config, before, after *service.Snapshot) reloads.ReloadRecord {
	r := reloads.ReloadRecord{Applied: true, Before: before.Hash, Hash: after.Hash, Settings: was.Changed(is)}
	for _, next := range after.Services() {
		if c := compareService(before.Service(next.ID), next); !c.IsZero() {
			r.Services = append(r.Services, c)
		}
	}
	for _, s := range before.Services() {
		if after.Service(s.ID) == nil {
			r.Services = append(r.Services, compareService(s, nil))
		}
	}
	return r
}

// compareService compares two versions of a service. One of them may be nil.
func compareService(was, is *service.Service) reloads.ServiceChange {
	switch {
	case was == nil:
		c := reloads.ServiceChange{Service: is.ID, Change: "added", PolicyAfter: is.Offer().Digest}
		addIntents(&c.Added, is.Catalog)
		return c
	case is == nil:
		c := reloads.ServiceChange{Service: was.ID, Change: "removed", PolicyBefore: was.Offer().Digest}
		addIntents(&c.Removed, was.Catalog)
		return c
	}
	c := reloads.ServiceChange{Service: is.ID, Change: "changed"}
	var terms []string // sorted
	if a, b := was.Offer().Digest, is.Offer().Digest; a != b {
		c.PolicyBefore, c.PolicyAfter = a, b
		terms = was.ChangedBy(is.Policy)
	}
	for _, in := range is.Catalog.Intents() {
		if _, found := slices.BinarySearch(terms, in.UID.String()); found {
			c.Terms.Add(in.UID.String())
		}
		if old, ok := was.Catalog.Lookup(in.UID); !ok {
			c.Added.Add(in.UID.String())
		} else if !sameIntent(old, in) {
			c.Changed.Add(in.UID.String())
		}
	}
	for _, in := range was.Catalog.Intents() {
		if _, ok := is.Catalog.Lookup(in.UID); !ok {
			c.Removed.Add(in.UID.String())
		}
	}
	return c
}

func addIntents(ids *reloads.ChangedIDs, c *intents.Catalog) {
	for _, in := range c.Intents() {
		ids.Add(in.UID.String())
	}
}

// sameIntent compares what agents read of an intent, where its calls go, and whether it is retired.
func sameIntent(a, b *intents.Intent) bool {
	return bytes.Equal(a.JSON(), b.JSON()) && reflect.DeepEqual(a.Endpoint, b.Endpoint) && a.Retired == b.Retired
}
