package uagents

import (
	"sync"
	"time"
)

// An Activity is the door's background work for one service.
type Activity struct {
	Queued        int       `json:"queued"`    // accepted envelopes whose replies are not yet delivered
	Delivered     int64     `json:"delivered"` // since the process started, like Undeliverable
	Undeliverable int64     `json:"undeliverable"`
	LastError     string    `json:"last_error,omitempty"` // why a reply was not delivered, without the path of the endpoint
	LastErrorAt   time.Time `json:"last_error_at,omitzero"`
	// Registered lists the Almanacs of the service, with the state of its registrations.
	Registered []Registration `json:"registered"`
}

// tallies holds the Activity of each service. It is safe for concurrent use.
type tallies struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*Activity
}

func (t *tallies) change(service string, do func(*Activity)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of[service]
	if a == nil {
		if t.of == nil {
			t.of = map[string]*Activity{}
		}
		a = &Activity{}
		t.of[service] = a
	}
	do(a)
}

func (t *tallies) queued(service string, n int) {
	t.change(service, func(a *Activity) { a.Queued += n })
}

// ended counts an envelope as delivered or undeliverable.
func (t *tallies) ended(service, became string, err error) {
	t.change(service, func(a *Activity) {
		a.Queued--
		if became == delivered {
			a.Delivered++
			return
		}
		a.Undeliverable++
		a.LastError, a.LastErrorAt = became, t.now()
		if err != nil {
			a.LastError = err.Error()
		}
	})
}

// Activity returns the door's background work for a service.
func (d *Door) Activity(service string) (now Activity) {
	d.outbox.tallies.change(service, func(a *Activity) { now = *a })
	now.Registered = d.registrar.of(service)
	return now
}
