// Package station provides gateways that the tests of an SDK in another language control over HTTP.
package station

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"
	"time"

	fronttest "github.com/uimgate/uimgate/internal/test/front"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A Station is a gateway behind a proxy, with a clock that is right. Charged calls need a proof of key.
type Station struct {
	*gatetest.Gate
	URL string // the URL of the proxy, which the gateway has as public_url
	// Controls are the endpoints of the test: POST /policy replaces the policy, and POST /pass advances the clock by d. A test may add others
	// before Start.
	Controls *http.ServeMux
	Proxy    http.Handler // passes requests to the gateway

	serve   func(http.Handler)
	control *httptest.Server
}

// New returns a station that does not listen yet. For prepare, see gatetest.New.
func New(t *testing.T, prepare ...func(*gatetest.Gate)) *Station {
	t.Helper()
	url, serve := fronttest.Public(t) // the gateway needs the URL in the configuration
	s := &Station{URL: url, Controls: http.NewServeMux(), serve: serve}
	s.Gate = gatetest.New(t,
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, public_url: "+s.URL+"}\n", prepare...)
	s.Later(-time.Until(s.Now()))
	s.Proxy = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(s.Parse(""))
		r.Out.Host = r.In.Host
	}, ModifyResponse: func(r *http.Response) error {
		r.Header.Set("Date", s.Now().UTC().Format(http.TimeFormat)) // net/http does not use the clock of the gateway
		return nil
	}}
	s.Controls.HandleFunc("POST /policy", func(_ http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		_, _ = text.ReadFrom(r.Body)
		s.Write("policy.json", text.String())
		s.Reload()
	})
	s.Controls.HandleFunc("POST /pass", func(_ http.ResponseWriter, r *http.Request) {
		d, err := time.ParseDuration(r.FormValue("d"))
		s.Must(err)
		s.Later(d)
	})
	return s
}

// Start starts listening. public handles the requests at URL; if it is nil, Proxy does.
func (s *Station) Start(t *testing.T, public http.Handler) {
	t.Helper()
	if public == nil {
		public = s.Proxy
	}
	s.serve(public)
	s.control = httptest.NewServer(s.Controls)
	t.Cleanup(s.control.Close)
}

// Env returns the environment variables that the tests of an SDK read.
func (s *Station) Env() []string {
	return []string{"UIMGATE_URL=" + s.URL, "UIMGATE_CONTROL=" + s.control.URL}
}

// Echo is an upstream that returns the parameters of the call.
func Echo(w http.ResponseWriter, r *http.Request) {
	out := map[string]any{}
	for name := range r.URL.Query() {
		out[name] = r.URL.Query().Get(name)
	}
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
			http.Error(w, "not JSON", http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}
