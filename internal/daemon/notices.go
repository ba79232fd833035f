package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/notify"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlcert"
)

// noticesLock is the name of a lock. Of the processes that share a database, only the holder of the lock notifies the operator of what is
// in the database.
const noticesLock = "notices"

// A notifier notifies the operator of the Conditions of this process, and of those in the database.
type notifier struct {
	*notify.Watcher

	shared sharedConditions
}

func (p *process) newNotifier() *notifier {
	n := &notifier{shared: sharedConditions{p: p, locks: sqlcert.New(p.store), sole: p.config.Store.Engine == config.SQLite}}
	n.Watcher = notify.New(notify.Options{
		Now: p.Now, Log: p.Log, Every: p.noticesEvery, Posted: p.metrics.Notice,
		Look: func(ctx context.Context) ([]notify.Condition, error) {
			inDatabase, err := n.shared.look(ctx)
			return append(p.conditions(), inDatabase...), err
		},
	})
	return n
}

// Run posts notices until ctx is done.
func (n *notifier) Run(ctx context.Context) error {
	defer n.shared.release(ctx)
	return n.Watcher.Run(ctx)
}

// conditions returns the Conditions of this process.
func (p *process) conditions() (found []notify.Condition) {
	for _, s := range p.directory.Current().Services() {
		states, _, _ := s.Upstream.Breakers()
		for intent := range states {
			found = append(found, notify.Condition{
				Event: config.BreakerOpen, Service: s.ID, Subject: intent,
				Text: "Calls to the intent failed so often that the gateway has stopped them. See uimgate status.",
			})
		}
	}
	for _, s := range p.directory.Current().Services() {
		found = append(found, toolConditions(s)...)
	}
	found = append(found, p.limits.conditions()...)
	if trouble := p.certificateTrouble(); trouble != "" {
		found = append(found, notify.Condition{Event: config.CertificateExpiring, Text: sentence(trouble)})
	}
	if wrong := p.alterations.first(); wrong != nil {
		found = append(found, notify.Condition{Event: config.LedgerMismatch, Text: sentence(wrong.Error()) + " See uimgate verify-ledger."})
	}
	if p.audit.Outage() != nil {
		found = append(found, notify.Condition{
			Event: config.AuditFailing, Text: "Audit records cannot be written. See uimgate status, and the log.",
		})
	}
	if refused := p.refusal.Load(); refused != nil {
		found = append(found, notify.Condition{
			Event: config.ReloadRefused, Since: refused.At,
			Text: fmt.Sprintf("The configuration cannot be used, so the previous one remains in use; number of problems: %d. See uimgate status.",
				len(refused.Problems)),
		})
	}
	return found
}

func sentence(text string) string {
	text = strings.TrimSuffix(text, ".")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// sharedConditions finds the Conditions that are in the database. Only one of the processes that share a database finds them.
type sharedConditions struct {
	p     *process
	locks *sqlcert.Store
	sole  bool // no other process uses the database
	held  bool // this process has the lock
}

func (c *sharedConditions) look(ctx context.Context) (found []notify.Condition, err error) {
	if !c.sole && !c.held {
		if c.held, err = c.locks.TryLock(ctx, noticesLock); err != nil || !c.held {
			return nil, err
		}
	}
	for _, s := range c.p.directory.Current().Services() {
		more, err := c.of(ctx, s)
		found = append(found, more...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// release frees the lock, so that another process finds the Conditions without waiting until the lock expires.
func (c *sharedConditions) release(ctx context.Context) {
	if !c.held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := c.locks.Unlock(ctx, noticesLock); err != nil {
		c.p.Log.Warn("the lock of the notices could not be released: it expires in two minutes", zap.Error(err))
	}
}

// mostOfEach limits how many Conditions of an event one service has. Further ones are found when earlier ones have ended.
const mostOfEach = 1000

// of returns the Conditions of a service.
func (c *sharedConditions) of(ctx context.Context, s *service.Service) (found []notify.Condition, err error) {
	agents, err := c.p.store.Agents(ctx, store.AgentFilter{Service: s.ID, Waiting: true, Limit: mostOfEach})
	for _, a := range agents {
		found = append(found, notify.Condition{
			Event: config.AgentWaiting, Service: s.ID, Subject: string(a.ID),
			Text: "An agent has agreed to the policy and waits for your approval: uimgate agents approve.",
		})
	}
	executions, failed := c.p.store.Executions(ctx, store.Filter{Service: s.ID, State: store.Unresolved, Limit: mostOfEach})
	err = errors.Join(err, failed)
	for i := range executions {
		e := &executions[i]
		found = append(found, notify.Condition{
			Event: config.ChargeUnresolved, Service: s.ID, Subject: e.ID, Since: e.UnresolvedAt,
			Text: fmt.Sprintf("The outcome of a call that costs %s is unknown. Find out what the service did, and see uimgate usage executions.", e.Charge),
		})
	}
	limit := balanceLimit(s.Credit, c.p.live.Load().low)
	if limit.Currency == "" {
		return found, err
	}
	accounts, failed := c.p.store.Accounts(ctx, store.Filter{Service: s.ID, BalanceBelow: limit, Limit: mostOfEach})
	for i := range accounts {
		found = append(found, notify.Condition{
			Event: config.CreditLow, Service: s.ID, Subject: string(accounts[i].AgentID),
			Text: fmt.Sprintf("The agent can spend less than %s. See uimgate usage accounts.", c.p.live.Load().low),
		})
	}
	return found, errors.Join(err, failed)
}

// balanceLimit returns the balance below which an approved agent can spend less than low.
func balanceLimit(b store.Billing, low money.Amount) money.Amount {
	if !b.Prepaid {
		low.Nano -= b.Credit.Nano
	}
	return low
}
