package relay

import (
	"net/http"
	"net/url"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

func webhookOf(w mail.Webhook) wire.Webhook {
	return wire.Webhook{URL: w.URL, Enabled: w.Enabled, Failures: w.Failures, CreatedAt: w.CreatedAt.UTC()}
}

// setWebhook sets the URL that messages to the caller are posted to, and enables the webhook.
func (r *Relay) setWebhook(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	address, secret, refused := wire.ReadWebhook(c.body)
	if refused != nil {
		return refused
	}
	u, err := url.Parse(address)
	if err == nil {
		err = r.postman.Check(u, foreign)
	}
	if err != nil {
		return wire.Refuse(wire.BadRequest, "url must be an https URL on the public internet")
	}
	r.probes.of.Remove(c.key())
	hook, err := r.store.SetWebhook(c.Context(), mail.Webhook{Owner: c.key(), URL: address, Secret: secret, Enabled: true})
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	r.json(w, http.StatusOK, webhookOf(hook))
	return nil
}

// foreign is passed to package fetch as the source of webhook URLs, so that fetch refuses addresses of this machine.
var foreign = &url.URL{Scheme: "https", Host: "agents.invalid"}

func (r *Relay) webhook(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	hook, err := r.store.Webhook(c.Context(), c.key())
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	r.json(w, http.StatusOK, webhookOf(hook))
	return nil
}

func (r *Relay) deleteWebhook(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	if err := r.store.DeleteWebhook(c.Context(), c.key()); err != nil {
		return r.refusal(err, wire.NotFound)
	}
	r.nothing(w)
	return nil
}
