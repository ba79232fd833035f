package daemon

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/oidc"
)

// live holds the settings of the process itself that a reload applies immediately. The response to a reload, the status and a metric report
// changed settings that need a restart: see config.Config.NeedsRestart.
type live struct {
	token       config.Secret    // the operator's token
	certificate *tls.Certificate // from files; nil if none is configured
	answered    time.Duration    // how long a request may take, including its complete response
	drain       time.Duration
	low         money.Amount // Billing.Low
	evidence    config.Evidence
	oidc        *oidc.Provider // nil: people cannot sign in to the console through a provider
	waiting     []string       // changed settings that need a restart
}

// writeSlack is the time for the store and for writing the response, in addition to Server.ReadTimeout and the longest timeout of a call.
const writeSlack = 15 * time.Second

// liveFrom derives the live settings from a configuration.
func (p *process) liveFrom(c *config.Config) (*live, error) {
	token, err := p.data.AdminToken(c.Admin.Token)
	if err != nil {
		return nil, err
	}
	slowest := time.Duration(0)
	for i := range c.Services {
		slowest = max(slowest, c.Services[i].LongestTimeout())
	}
	return &live{
		token: token, certificate: c.Server.TLS.Certificate(), drain: c.Server.DrainTimeout, low: c.Billing.Low, evidence: c.Evidence,
		oidc:     p.providerOf(c),
		answered: c.Server.ReadTimeout + slowest + cmp.Or(p.slack, writeSlack), waiting: p.started.NeedsRestart(c),
	}, nil
}

// takeOver applies a configuration and the live settings derived from it.
func (p *process) takeOver(c *config.Config, next *live) {
	if was := p.live.Load(); was != nil && next.certificate == nil {
		next.certificate = was.certificate // TLS cannot be turned off without a restart
	}
	if was := p.live.Load(); was != nil && was.oidc != nil && was.oidc != next.oidc {
		was.oidc.Close()
	}
	p.live.Store(next)
	p.applied.Store(c)
	if p.certificates != nil {
		p.certificates.Manage(c.CertificateNames())
	}
	p.bounded.SetPerAddress(c.Server.Connections)
	p.server.SetPerAddress(c.Server.PerAddress)
	p.agreements.SetPerCaller(c.Server.IssuePerAddress)
	p.consents.SetPerCaller(c.Server.IssuePerAddress)
	p.consents.SetAll(c.Server.Consents)
	p.store.KeepLedger(c.Billing.Retain)
	p.receipts.Configure(c.Evidence)
	p.audit.Configure(c.Audit.Parameters, c.Audit.Required)
	p.index.Configure(c.Audit.Index.Retain, c.Audit.Index.Limit)
	p.notices.Configure(c.Notify)
	p.metrics.NeedRestart(len(next.waiting))
	if len(next.waiting) > 0 {
		p.Log.Warn("some changed settings need a restart", zap.Strings("settings", next.waiting))
	}
}

// withDeadline sets the write deadline of each request to live.answered. A request whose upstream may take minutes thus gets its response,
// and no request holds a connection forever.
func (p *process) withDeadline(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within := time.Now().Add(p.live.Load().answered) //nolint:forbidigo // deadlines of connections use the machine's clock
		// The ResponseWriter of net/http has the method.
		if direct, ok := w.(interface{ SetWriteDeadline(t time.Time) error }); ok {
			_ = direct.SetWriteDeadline(within)
		} else {
			_ = http.NewResponseController(w).SetWriteDeadline(within)
		}
		h.ServeHTTP(w, r)
	})
}
