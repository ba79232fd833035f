package relay

import (
	"context"
	"net/http"
	"os"
	"time"
)

// healthWithin is the timeout for the check of one part of the relay.
const healthWithin = 2 * time.Second

// A part is the health of one part of the relay.
type part struct {
	Status  string `json:"status"` // ok or unavailable
	Latency int64  `json:"latency_ms"`
}

// health is the state of the relay, for people and load balancers. It contains neither file paths nor secrets.
type health struct {
	Status     string          `json:"status"` // ok or degraded
	Version    string          `json:"version"`
	Timestamp  time.Time       `json:"timestamp"`
	Uptime     int64           `json:"uptime_seconds,omitempty"`
	Components map[string]part `json:"components,omitempty"`
}

// look returns the health of the relay. It checks the parts at most once a second, because anyone may request the health.
func (r *Relay) look(ctx context.Context) health {
	r.looking.Lock()
	defer r.looking.Unlock()
	if now := r.now(); now.Sub(r.looked.Timestamp) >= time.Second {
		r.looked = r.lookAnew(context.WithoutCancel(ctx))
	}
	return r.looked
}

func (r *Relay) lookAnew(ctx context.Context) health {
	h := health{Status: "ok", Version: r.options.Version, Timestamp: r.now().UTC(), Components: map[string]part{}}
	for name, look := range map[string]func(context.Context) error{
		"database": r.store.Ready, "blob_storage": func(context.Context) error { _, err := os.Stat(r.blobs.dir); return err },
	} {
		before := r.now()
		p := part{Status: "ok"}
		ctx, cancel := context.WithTimeout(ctx, healthWithin)
		if look(ctx) != nil {
			p.Status, h.Status = "unavailable", "degraded"
		}
		cancel()
		p.Latency = max(0, r.now().Sub(before).Milliseconds())
		h.Components[name] = p
	}
	return h
}

func (r *Relay) health(w http.ResponseWriter, req *http.Request) {
	h := r.look(req.Context())
	h.Components = nil
	r.json(w, http.StatusOK, h)
}

func (r *Relay) details(w http.ResponseWriter, req *http.Request) {
	h := r.look(req.Context())
	h.Uptime = max(1, int64(r.now().Sub(r.started).Seconds()))
	r.json(w, http.StatusOK, h)
}

func (r *Relay) live(w http.ResponseWriter, _ *http.Request) {
	r.json(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (r *Relay) ready(w http.ResponseWriter, req *http.Request) {
	if r.ending() || r.look(req.Context()).Components["database"].Status != "ok" {
		w.Header().Set("Retry-After", "1")
		r.json(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
		return
	}
	r.json(w, http.StatusOK, map[string]string{"status": "ok"})
}
