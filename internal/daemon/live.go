package daemon

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
)

// live are the settings of the process itself that a reload applies at once. Settings that only a start applies are named in the response
// to the reload, in the status and by a metric: config.Config.NeedsRestart.
type live struct {
	token       config.Secret    // of the operator
	certificate *tls.Certificate // from files; nil: there is none
	answered    time.Duration    // the time for the complete response of a request
	drain       time.Duration
	waiting     []string // settings, for a restart
}

// writeSlack is the time for the store and for the response itself, in addition to reading and the upstream's timeout.
const writeSlack = 15 * time.Second

// liveFrom prepares the settings of a configuration.
func (p *process) liveFrom(c *config.Config) (*live, error) {
	token, err := p.data.AdminToken(c.Admin.Token)
	if err != nil {
		return nil, err
	}
	slowest := time.Duration(0)
	for i := range c.Services {
		slowest = max(slowest, c.Services[i].Upstream.Timeout)
	}
	return &live{
		token: token, certificate: c.Server.TLS.Certificate(), drain: c.Server.DrainTimeout,
		answered: c.Server.ReadTimeout + slowest + cmp.Or(p.slack, writeSlack), waiting: p.started.NeedsRestart(c),
	}, nil
}

// takeOver applies the settings of a configuration.
func (p *process) takeOver(c *config.Config, next *live) {
	if was := p.live.Load(); was != nil && next.certificate == nil {
		next.certificate = was.certificate // TLS ends with the process
	}
	p.live.Store(next)
	if p.certificates != nil {
		p.certificates.Manage(c.CertificateNames())
	}
	p.bounded.SetPerAddress(c.Server.Connections)
	p.server.SetPerAddress(c.Server.PerAddress)
	p.agreements.SetPerCaller(c.Server.IssuePerAddress)
	p.consents.SetPerCaller(c.Server.IssuePerAddress)
	p.consents.SetAll(c.Server.Consents)
	p.store.KeepLedger(c.Billing.Retain)
	p.audit.Configure(c.Audit.Parameters, c.Audit.Required)
	p.metrics.NeedRestart(len(next.waiting))
	if len(next.waiting) > 0 {
		p.Log.Warn("only a restart takes over some settings", zap.Strings("settings", next.waiting))
	}
}

// withDeadline gives each request the time in the present configuration: a request whose upstream may take minutes gets its response, and
// none holds a connection for ever.
func (p *process) withDeadline(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within := time.Now().Add(p.live.Load().answered) //nolint:forbidigo // connections have the machine's clock
		// The writer of net/http supports it.
		if direct, ok := w.(interface{ SetWriteDeadline(t time.Time) error }); ok {
			_ = direct.SetWriteDeadline(within)
		} else {
			_ = http.NewResponseController(w).SetWriteDeadline(within)
		}
		h.ServeHTTP(w, r)
	})
}
