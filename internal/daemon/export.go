package daemon

import (
	"cmp"
	"crypto/tls"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/record/export"
)

// openExport prepares the export of the audit stream, if the configuration names a collector.
func (p *process) openExport() (err error) {
	c := &p.config.Audit.Export
	if !c.Enabled() {
		return nil
	}
	p.export, err = export.New(export.Options{
		Stream: p.data.AuditPath(), Cursor: p.data.AuditCursorPath(), Send: p.auditSender(c), Now: p.Now,
		Sent: p.metrics.Exported, Log: p.Log, Every: p.exportEvery,
	})
	if err == nil {
		p.metrics.WatchExport(p.export.Lag)
	}
	return err
}

func (p *process) auditSender(c *config.AuditExport) export.Sender {
	secure := c.TLSConfig()
	switch {
	case c.HTTP.URL != nil:
		return export.NewHTTP(c.HTTP.URL.String(), c.HTTP.Secret.Reveal(), c.HTTP.Private, secure, p.Now)
	case c.OTLP.Endpoint != nil:
		return export.NewOTLP(c.OTLP.Endpoint.JoinPath("v1", "logs").String(), c.OTLP.Sent(), secure)
	case c.Syslog.TLS:
		return export.NewSyslog(c.Syslog.Address, cmp.Or(secure, &tls.Config{MinVersion: tls.VersionTLS12}))
	default:
		return export.NewSyslog(c.Syslog.Address, nil)
	}
}
