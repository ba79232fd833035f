package relay

import (
	"net/url"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

func webhookOf(w mail.Webhook) wire.Webhook {
	return wire.Webhook{URL: w.URL, Enabled: w.Enabled, Failures: w.Failures, CreatedAt: w.CreatedAt.UTC()}
}

// setWebhook sets the URL that messages to the caller are posted to, and enables the webhook.
func (r *Relay) setWebhook(c *call) (any, *wire.Error) {
	address, secret, refused := wire.ReadWebhook(c.body)
	if refused != nil {
		return nil, refused
	}
	u, err := url.Parse(address)
	if err == nil {
		err = r.postman.Check(u, foreign)
	}
	if err != nil {
		return nil, wire.Refuse(wire.BadRequest, "url must be an https URL on the public internet")
	}
	r.probes.of.Remove(c.key())
	hook, err := r.store.SetWebhook(c.Context(), mail.Webhook{Owner: c.key(), URL: address, Secret: secret, Enabled: true})
	return webhookOf(hook), r.refusal(err, wire.NotFound)
}

// foreign is passed to package fetch as the source of webhook URLs, so that fetch refuses addresses of this machine.
var foreign = &url.URL{Scheme: "https", Host: "agents.invalid"}

func (r *Relay) webhook(c *call) (any, *wire.Error) {
	hook, err := r.store.Webhook(c.Context(), c.key())
	return webhookOf(hook), r.refusal(err, wire.NotFound)
}

func (r *Relay) deleteWebhook(c *call) (any, *wire.Error) {
	return nil, r.refusal(r.store.DeleteWebhook(c.Context(), c.key()), wire.NotFound)
}
