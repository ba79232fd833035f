package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// servicesOf returns the services of a configuration, for the comparison with those in the store.
func servicesOf(c *config.Config, l *service.LoadedConfig) store.Services {
	out := store.Services{Unserved: c.Unserved}
	for i, d := range l.Definitions() {
		s := &c.Services[i]
		out.Served = append(out.Served, store.Service{ID: d.ID, Issuer: d.Issuer, IssuerSet: s.Issuer != "", Formerly: s.Formerly})
	}
	return out
}

// serviceProblems returns the findings about the services in the store, at their places in the configuration.
func serviceProblems(c *config.Config, level problem.Level, found []store.ServiceProblem) config.Problems {
	out := make(config.Problems, 0, len(found))
	for _, p := range found {
		path := "services"
		if p.At >= 0 {
			path = fmt.Sprintf("services[%d].%s", p.At, p.Key)
		}
		out = append(out, c.Problemf(level, path, "%s", p.Message))
	}
	return out
}

// compareServices compares the services of a configuration with those in the store, for a reload.
func (p *process) compareServices(ctx context.Context, c *config.Config, l *service.LoadedConfig) (config.Problems, error) {
	warnings, err := p.store.CompareServices(ctx, servicesOf(c, l))
	if lost, ok := errors.AsType[store.ServicesError](err); ok {
		return serviceProblems(c, problem.Error, lost), nil
	}
	return serviceProblems(c, problem.Warning, warnings), err
}

// renameIdentities renames the identities of services with a former id among agents of other protocols.
func (p *process) renameIdentities() error {
	for i := range p.config.Services {
		s := &p.config.Services[i]
		if s.Formerly == "" {
			continue
		}
		for _, m := range p.modules {
			if err := p.data.Rename(m.Name(), s.Formerly, s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckServices compares the services of a configuration with those in its store, without changing either. A store that cannot be read is
// a warning; it need not exist yet.
func (k *Keeper) CheckServices(ctx context.Context, l *service.LoadedConfig) config.Problems {
	place := k.Config.Store.URL.Reveal()
	if k.Config.Store.Engine == config.SQLite {
		place = config.StatePath(k.Config.Data)
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	warnings, err := sqlstore.CheckServices(ctx, place, servicesOf(k.Config, l))
	if lost, ok := errors.AsType[store.ServicesError](err); ok {
		return serviceProblems(k.Config, problem.Error, lost)
	}
	out := serviceProblems(k.Config, problem.Warning, warnings)
	if err != nil {
		return append(out, k.Config.Problemf(problem.Warning, "store", "cannot be read, so whether services in it are missing here is not checked: %v", err))
	}
	return append(out, heldByOthers(ctx, k.Config, l, storeAt(place))...)
}

// A storeAt is the location of a database that is only read.
type storeAt string

// Holders implements admin.Holders.
func (p storeAt) Holders(ctx context.Context, service string, ids []pat.AgentID) ([]pat.Agent, error) {
	return sqlstore.ReadHolders(ctx, string(p), service, ids)
}

// heldByOthers warns of agent ids that a configuration reserves and that other keys hold. A store that cannot be read gives no warning:
// status reads it again.
func heldByOthers(ctx context.Context, c *config.Config, l *service.LoadedConfig, in admin.Holders) (warnings config.Problems) {
	for i, d := range l.Definitions() {
		held, err := admin.HeldByOthers(ctx, in, d)
		if err != nil {
			continue
		}
		for _, id := range held {
			warnings = append(warnings, c.Problemf(problem.Warning, fmt.Sprintf("services[%d]", i),
				"service %s reserves the agent id %s, and another key holds it. PATs of that key are refused; "+
					"the next agreement of the key that the id is reserved for takes it over", d.ID, id))
		}
	}
	return warnings
}

// reportServices logs the findings about the services when the store was opened.
func (p *process) reportServices(ctx context.Context, l *service.LoadedConfig) {
	p.report(serviceProblems(p.config, problem.Warning, p.store.ServicesFound()))
	p.report(heldByOthers(ctx, p.config, l, p.store))
}
