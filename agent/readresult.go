package agent

import (
	"bytes"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// readResult parses a 2xx response: the outputs alone (UIM core 3.2), or the draft's envelope {"status": "success", "data": …, "meta": …}.
// An envelope has no other members, or has the type application/uim+json; this distinguishes it from outputs that have these names. An
// empty body counts as {}. Every error is an *Error.
func readResult(a fetch.Answer) (Result, error) {
	r := Result{
		Status: a.Status, Raw: a.Body, RequestID: identifier(a.Header.Get("Uim-Request-Id")),
		Replayed: replayed(a.Header), RateLimit: parseRateLimit(a.Header), Evidence: receiptsOf(a.Header),
	}
	r.Charge, _ = parseCharge(a.Header.Get("Uim-Charge"))
	r.Sunset = readSunset(a.Header)
	if len(bytes.TrimSpace(a.Body)) == 0 {
		r.Output, r.Raw = map[string]any{}, []byte("{}")
		return r, nil
	}
	if kind := mediaType(a.Header); !jsonType(kind) {
		return Result{}, r.unreadable("its type is " + kind + ", not JSON")
	}
	tree, err := strictjson.Decode(a.Body)
	if err != nil {
		return Result{}, r.unreadable(err.Error())
	}
	r.Output = tree
	outer, ok := tree.(map[string]any)
	if !ok || !enveloped(a.Header, outer) {
		return r, nil
	}
	if outer["status"] == "error" {
		return Result{}, readError(a)
	}
	r.Output = outer["data"]
	r.Raw, _ = strictjson.Find(a.Body, "/data")
	meta, _ := outer["meta"].(map[string]any)
	if r.Charge == nil {
		r.Charge = chargeOf(meta["charge"])
	}
	r.addReceipt(meta["receipt"])
	if limit, ok := meta["rate_limit"].(map[string]any); ok && r.RateLimit == nil {
		if left, ok := wholeNumber(limit["remaining"]); ok {
			r.RateLimit = &RateLimit{Remaining: left}
			if reset, ok := numberUpTo(limit["reset"], maxTime); ok {
				r.RateLimit.Reset = resetAfter(reset, a.Header.Get("Date"))
			}
		}
	}
	return r, nil
}

// A Sunset is the announced end of an intent, or of its terms. See RFC 8594, section 3.
type Sunset struct {
	At    time.Time
	Terms bool // only the terms end; the intent continues under new terms
	// ReplacedBy is the uid of the intent that replaces this one; it is empty if the service names none, or if Terms is true.
	ReplacedBy string
}

// readSunset returns the end that a response announces, or nil if there is none.
func readSunset(h http.Header) *Sunset {
	at, err := http.ParseTime(h.Get("Sunset"))
	if err != nil {
		return nil
	}
	end := &Sunset{At: at.UTC(), Terms: h.Get("Deprecation") != ""}
	if !end.Terms {
		end.ReplacedBy = replacement(h)
	}
	return end
}

// unreadable returns the error for a call that the service executed, but whose response the client cannot use. The error includes the
// charge.
func (r Result) unreadable(why string) *Error {
	return &Error{
		Status: r.Status, Message: ErrAnswer.Error() + ": " + clean(why), Outcome: "done", Charge: r.Charge, RateLimit: r.RateLimit,
		RequestID: r.RequestID, Replayed: r.Replayed, Evidence: r.Evidence, cause: ErrAnswer,
	}
}

func enveloped(h http.Header, outer map[string]any) bool {
	status, _ := outer["status"].(string)
	payload := map[string]string{"success": "data", "error": "error"}[status]
	if _, ok := outer[payload]; !ok || payload == "" {
		return false
	}
	if mediaType(h) == "application/uim+json" {
		return true
	}
	for name := range outer {
		if name != "status" && name != payload && name != "meta" {
			return false
		}
	}
	return true
}

// replacement returns the uid of the intent to which the successor link of RFC 5829 points, or an empty string if there is none.
func replacement(h http.Header) string {
	for _, link := range h.Values("Link") {
		target, rest, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		u, err := url.Parse(target)
		if err != nil || !strings.HasPrefix(link, "<") || !strings.Contains(rest, `rel="successor-version"`) {
			continue
		}
		if uid, err := intents.ParseUID(path.Base(u.Path)); err == nil {
			return uid.String()
		}
	}
	return ""
}
