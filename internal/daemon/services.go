package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/playground"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// servicesOf returns the services of a configuration in the form in which they are compared with those in the store.
func servicesOf(c *config.Config, l *service.LoadedConfig) store.Services {
	out := store.Services{Unserved: c.Unserved}
	for i, d := range l.Definitions() {
		s := &c.Services[i]
		out.Served = append(out.Served, store.Service{ID: d.ID, Issuer: d.Issuer, IssuerSet: s.Issuer != "", Formerly: s.Formerly})
	}
	return out
}

// serviceProblems turns the problems that the store found with services into problems of the configuration, with their positions.
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

// compareServices compares the services of a configuration with those in the store, during a reload.
func (p *process) compareServices(ctx context.Context, c *config.Config, l *service.LoadedConfig) (config.Problems, error) {
	warnings, err := p.store.CompareServices(ctx, servicesOf(c, l))
	if lost, ok := errors.AsType[store.ServicesError](err); ok {
		return serviceProblems(c, problem.Error, lost), nil
	}
	return serviceProblems(c, problem.Warning, warnings), err
}

// renameIdentities renames the identities that services with a former id have among agents of other protocols and in the
// playground.
func (p *process) renameIdentities() error {
	for i := range p.config.Services {
		s := &p.config.Services[i]
		if s.Formerly == "" {
			continue
		}
		names := []string{playground.Name}
		for _, m := range p.modules {
			names = append(names, m.Name())
		}
		for _, name := range names {
			if err := p.data.Rename(name, s.Formerly, s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckServices compares the services of a configuration with those in its store, and changes neither. If the store does not exist yet,
// there are no problems; if it cannot be read, CheckServices returns a warning.
func (k *Keeper) CheckServices(ctx context.Context, l *service.LoadedConfig) config.Problems {
	place := k.place()
	if place == "" {
		return nil
	}
	warnings, err := sqlstore.CheckServices(ctx, place, servicesOf(k.Config, l))
	if lost, ok := errors.AsType[store.ServicesError](err); ok {
		return serviceProblems(k.Config, problem.Error, lost)
	}
	out := serviceProblems(k.Config, problem.Warning, warnings)
	if err != nil {
		return append(
			out,
			k.Config.Problemf(problem.Warning, "store", "cannot be read, so it was not checked for services that are missing here: %v", err),
		)
	}
	return append(out, heldByOthers(ctx, k.Config, l, storeAt(place))...)
}

// HasEmptyServer reports whether the store is a PostgreSQL database without tables of uimgate, which the gateway creates when it starts. It
// returns false if the database cannot be read.
func (k *Keeper) HasEmptyServer(ctx context.Context) bool {
	if k.Config.Store.Engine == config.SQLite {
		return false
	}
	empty, err := sqlstore.IsEmpty(ctx, k.place())
	return empty && err == nil
}

// place returns the location of the store, or "" if it does not exist yet.
func (k *Keeper) place() string {
	if k.Config.Store.Engine != config.SQLite {
		return k.Config.Store.URL.Reveal()
	}
	place := config.StatePath(k.Config.Data)
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return place
}

// CheckEndings returns the problems that make a reload refuse a configuration unless it is forced: see endings. If there is no store, it
// only finds services without an intent that agents can call. It changes nothing.
func (k *Keeper) CheckEndings(ctx context.Context, l *service.LoadedConfig) config.Problems {
	return endings(ctx, k.Config, l, nil, storeAt(k.place()), k.Now())
}

// Uses implements usesReader.
func (p storeAt) Uses(ctx context.Context, service string, since time.Time) ([]store.IntentUse, error) {
	if p == "" {
		return nil, nil
	}
	return sqlstore.ReadUses(ctx, string(p), service, since)
}

// A storeAt is the location of a database that is opened only for reading.
type storeAt string

// Holders implements status.Holders.
func (p storeAt) Holders(ctx context.Context, service string, ids []pat.AgentID) ([]pat.Agent, error) {
	return sqlstore.ReadHolders(ctx, string(p), service, ids)
}

// heldByOthers returns a warning for each agent id that a configuration reserves but that another key holds. If the store cannot be read,
// it returns no warning: the status command repeats the check.
func heldByOthers(ctx context.Context, c *config.Config, l *service.LoadedConfig, in status.Holders) (warnings config.Problems) {
	for i, d := range l.Definitions() {
		held, err := status.HeldByOthers(ctx, in, d)
		if err != nil {
			continue
		}
		for _, id := range held {
			warnings = append(warnings, c.Problemf(problem.Warning, fmt.Sprintf("services[%d]", i),
				"service %s reserves the agent id %s, but another key holds it: PATs of that key are refused, "+
					"and the next agreement with the configured key moves the id to the configured key", d.ID, id))
		}
	}
	return warnings
}

// reportServices logs the findings about services from opening the store.
func (p *process) reportServices(ctx context.Context, l *service.LoadedConfig) {
	p.report(serviceProblems(p.config, problem.Warning, p.store.ServicesFound()))
	p.report(heldByOthers(ctx, p.config, l, p.store))
}
