package payments_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/payments"
)

const secret = "0123456789abcdef"

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestSignatures(t *testing.T) {
	hook, body := payments.NewWebhook(secret, 5*time.Minute), []byte(`{"amount":"5.00"}`)
	good := hook.Sign(body, now)
	_, mac, _ := strings.Cut(good, ",")
	other := payments.NewWebhook("another secret 123", time.Minute).Sign(body, now)
	_, otherMAC, _ := strings.Cut(other, ",")
	for name, tt := range map[string]struct {
		header string
		body   string
		at     time.Time
		want   error
	}{
		"as signed":                   {good, string(body), now, nil},
		"at the end of the tolerance": {good, string(body), now.Add(5 * time.Minute), nil},
		"a clock that is behind":      {good, string(body), now.Add(-5 * time.Minute), nil},
		"late":                        {good, string(body), now.Add(5*time.Minute + time.Second), payments.ErrSignatureTime},
		"early":                       {good, string(body), now.Add(-5*time.Minute - time.Second), payments.ErrSignatureTime},
		"another time in the header":  {"t=" + strconv.FormatInt(now.Unix()+1, 10) + "," + mac, string(body), now, payments.ErrSignatureWrong},
		"another body":                {good, string(body) + " ", now, payments.ErrSignatureWrong},
		"another secret":              {other, string(body), now, payments.ErrSignatureWrong},
		"two secrets during a change": {good + "," + otherMAC, string(body), now, nil},
		"fields of another scheme":    {good + ",v0=ff", string(body), now, nil},
		"none":                        {"", string(body), now, payments.ErrSignatureMissing},
		"no time":                     {mac, string(body), now, payments.ErrSignatureMalformed},
		"two times":                   {good + ",t=1", string(body), now, payments.ErrSignatureMalformed},
		"no signature":                {"t=1", string(body), now, payments.ErrSignatureMalformed},
		"a short signature":           {good[:len(good)-2], string(body), now, payments.ErrSignatureMalformed},
		"not hex":                     {"t=1,v1=zz", string(body), now, payments.ErrSignatureMalformed},
		"a time that is not a number": {"t=x," + mac, string(body), now, payments.ErrSignatureMalformed},
		"a negative time":             {"t=-5," + mac, string(body), now, payments.ErrSignatureMalformed},
		"too many":                    {"t=1" + strings.Repeat(","+mac, 9), string(body), now, payments.ErrSignatureMalformed},
		"too long":                    {good + strings.Repeat(" ", 2048), string(body), now, payments.ErrSignatureMalformed},
	} {
		if err := hook.Verify(tt.header, []byte(tt.body), tt.at); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// stripe returns an event of Stripe as its API sends it, without members that do not matter here.
func stripe(session string) string {
	return `{"id":"evt_1","object":"event","api_version":"2026-01-28","created":1764417600,"livemode":false,"type":"checkout.session.completed",` +
		`"data":{"object":{"id":"cs_1","object":"checkout.session","mode":"payment",` + session + `}}}`
}

// stripeRefund returns an event of Stripe about a charge that was returned in part or whole.
func stripeRefund(charge, previous string) string {
	return `{"id":"evt_2","object":"event","type":"charge.refunded","data":{"object":{"id":"ch_1","object":"charge",` + charge +
		`},"previous_attributes":` + previous + `}}`
}

func TestEvents(t *testing.T) {
	for text, want := range map[string]string{
		`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"p-1"}`:                              "top-up 5.00 EUR agent-1 p-1",
		`{"amount":"0.005","currency":"EUR","agent":"agent-1","reference":"p-1","kind":"refund"}`:             "refund 0.005 EUR agent-1 p-1",
		`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"p-1","kind":"gift"}`:                "/kind",
		`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"p-1","kind":5}`:                     "/kind",
		`{"amount":5,"currency":"EUR","agent":"agent-1","reference":"p-1"}`:                                   "/amount",
		`{"amount":"-5","currency":"EUR","agent":"agent-1","reference":"p-1"}`:                                "/amount",
		`{"amount":"0","currency":"EUR","agent":"agent-1","reference":"p-1"}`:                                 "/amount",
		`{"amount":"1e12","currency":"EUR","agent":"agent-1","reference":"p-1"}`:                              "/amount",
		`{"amount":"5.00","currency":"eur","agent":"agent-1","reference":"p-1"}`:                              "/amount",
		`{"amount":"5.00","currency":"EUR","agent":"","reference":"p-1"}`:                                     "/agent",
		`{"amount":"5.00","currency":"EUR","agent":"a b","reference":"p-1"}`:                                  "/agent",
		`{"amount":"5.00","currency":"EUR","agent":"agent-1"}`:                                                "/reference",
		`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"` + strings.Repeat("x", 201) + `"}`: "/reference",
		`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"p\n1"}`:                             "/reference",
		`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"p-1","service":"x"}`:                "/service",

		stripe(`"amount_total":2500,"currency":"eur","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):                              "top-up 25.00 EUR agent-1 pi_1",
		stripe(`"amount_total":2500,"currency":"jpy","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):                              "top-up 2500.00 JPY agent-1 pi_1",
		stripe(`"amount_total":2500,"currency":"kwd","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):                              "top-up 2.50 KWD agent-1 pi_1",
		stripe(`"amount_total":2500,"currency":"isk","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):                              "top-up 25.00 ISK agent-1 pi_1",
		stripe(`"amount_total":2500,"currency":"eur","client_reference_id":null,"metadata":{"agent_id":"agent-2"},"payment_intent":"pi_1","payment_status":"paid"`): "top-up 25.00 EUR agent-2 pi_1",
		stripe(`"amount_total":2500,"currency":"eur","client_reference_id":null,"payment_intent":null,"payment_status":"paid"`):                                     "top-up 25.00 EUR  cs_1",
		stripe(`"amount_total":2500,"currency":"eur","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"unpaid"`):                            "ignored",
		stripe(`"amount_total":25.5,"currency":"eur","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):                              "/data/object/amount_total",
		stripe(`"amount_total":0,"currency":"eur","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):                                 "/data/object/amount_total",
		stripe(`"amount_total":9223372036854775807,"currency":"eur","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`):               "/data/object/amount_total",
		stripe(`"amount_total":2500,"currency":"eur","client_reference_id":"a b","payment_intent":"pi_1","payment_status":"paid"`):                                  "/data/object/client_reference_id",
		stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":"pi_1"`, `{}`):                                                                       "refund 25.00 EUR  pi_1:refunded:2500",
		stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":"pi_1"`, `{"amount_refunded":0}`):                                                    "refund 25.00 EUR  pi_1:refunded:2500",
		stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":"pi_1"`, `{"amount_refunded":1000}`):                                                 "refund 15.00 EUR  pi_1:refunded:2500",
		stripeRefund(`"amount_refunded":2500,"currency":"jpy","payment_intent":"pi_1"`, `{"amount_refunded":1000}`):                                                 "refund 1500.00 JPY  pi_1:refunded:2500",
		stripeRefund(`"amount_refunded":0,"currency":"eur","payment_intent":"pi_1"`, `{}`):                                                                          "/data/object/amount_refunded",
		stripeRefund(`"amount_refunded":-1,"currency":"eur","payment_intent":"pi_1"`, `{}`):                                                                         "/data/object/amount_refunded",
		stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":"pi_1"`, `{"amount_refunded":2500}`):                                                 "/data/previous_attributes/amount_refunded",
		stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":"pi_1"`, `{"amount_refunded":-5}`):                                                   "/data/previous_attributes/amount_refunded",
		stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":null`, `{}`):                                                                         "/data/object/payment_intent",
		`{"object":"event","type":"customer.created","data":{"object":{}}}`:                                                                                         "ignored",
		`{"object":"event","type":"checkout.session.completed"}`:                                                                                                    "ignored",
	} {
		tree, err := strictjson.DecodeObject([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		p, ignored, err := payments.ReadEvent(tree)
		got := string(p.Kind) + " " + p.Amount.String() + " " + string(p.AgentID) + " " + p.Reference
		if problem, ok := errors.AsType[*payments.EventError](err); ok {
			got = problem.Pointer
		} else if ignored {
			got = "ignored"
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func FuzzWebhook(f *testing.F) {
	f.Add("t=1,v1=00", []byte(`{"amount":"5.00","currency":"EUR","agent":"agent-1","reference":"p-1"}`))
	f.Add("t=1,v1=00", []byte(stripe(`"amount_total":2500,"currency":"eur","client_reference_id":"agent-1","payment_intent":"pi_1","payment_status":"paid"`)))
	f.Add("t=1,v1=00", []byte(stripeRefund(`"amount_refunded":2500,"currency":"eur","payment_intent":"pi_1"`, `{"amount_refunded":1000}`)))
	hook := payments.NewWebhook(secret, time.Hour)
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		if err := hook.Verify(header, body, now); err == nil {
			t.Fatalf("%q was accepted", header)
		}
		tree, err := strictjson.DecodeObject(body)
		if err != nil {
			return
		}
		p, ignored, err := payments.ReadEvent(tree)
		if err == nil && !ignored && (p.Amount.Nano <= 0 || p.Reference == "" || len(p.Reference) > 200 || len(p.AgentID) > 200) {
			t.Fatalf("%s: %+v", body, p)
		}
	})
}
