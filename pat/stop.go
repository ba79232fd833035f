package pat

import (
	"maps"
	"slices"
	"time"
)

// A StopKind is the kind of thing that the operator can stop.
type StopKind string

// The kinds of stops.
const (
	StopCharging StopKind = "charging" // calls that would be charged
	StopConsent  StopKind = "consent"  // everything under the consents of people
	StopAgent    StopKind = "agent"    // Subject is the id of the agent in the store
	StopIntent   StopKind = "intent"   // Subject is the uid
	StopDoor     StopKind = "door"     // Subject is the name of the door, or DoorHTTP
	StopService  StopKind = "service"  // everything at Service
)

// StopKinds are all kinds.
var StopKinds = []StopKind{StopCharging, StopConsent, StopAgent, StopIntent, StopDoor, StopService}

// DoorHTTP is the Subject of a StopDoor for UIM over HTTP, which is not the door of a module.
const DoorHTTP = "http"

// HasSubject reports whether stops of this kind have a Subject.
func (k StopKind) HasSubject() bool { return k == StopAgent || k == StopIntent || k == StopDoor }

// A Stop is an order of the operator to refuse calls until the order is ended. It ends no agreement and no PAT: when the operator ends it,
// agents continue as before.
type Stop struct {
	Service string // id; empty: every service
	Kind    StopKind
	Subject string
	Reason  string // for operators; agents do not receive it
	By      string // who gave the order
	At      time.Time
	EndedAt time.Time // zero: in force
	EndedBy string
	Change  int64 // number of the change that began or ended it: see ViewStore
}

// A StopRead is the time at which a View applied a change of a Stop.
type StopRead struct {
	Change int64 // Stop.Change
	At     time.Time
}

// StopsRead returns a channel that receives when TakeStopReads has something to return.
func (v *View) StopsRead() <-chan struct{} { return v.stopsRead }

// maxStopReads bounds the StopReads that a View keeps until TakeStopReads.
const maxStopReads = 2000

// TakeStopReads returns the times at which the View applied changes of Stops since the last call, without the Stops that were in force when
// the View first read the store. It also returns the number of the last change that the View has read.
func (v *View) TakeStopReads() (reads []StopRead, read int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	reads, v.stopReads = v.stopReads, nil
	return reads, v.read.Load()
}

// A StoppedError means that the operator has stopped calls of this kind.
type StoppedError struct{ Kind StopKind }

func (e *StoppedError) Error() string { return "the operator has stopped this: " + string(e.Kind) }

// A stopKey identifies a Stop.
type stopKey struct {
	service string
	kind    StopKind
	subject string
}

// stop applies a change of a Stop. The caller must hold mu.
func (v *View) stop(s Stop) {
	next := make(map[stopKey]Stop, len(v.inForce())+1)
	maps.Copy(next, v.inForce())
	if key := (stopKey{s.Service, s.Kind, s.Subject}); s.EndedAt.IsZero() {
		next[key] = s
	} else {
		delete(next, key)
	}
	v.stops.Store(&next)
}

// inForce returns the Stops in force. The caller must not modify the map.
func (v *View) inForce() map[stopKey]Stop {
	if m := v.stops.Load(); m != nil {
		return *m
	}
	return nil
}

// Stops returns the Stops in force, in no particular order.
func (v *View) Stops() []Stop { return slices.Collect(maps.Values(v.inForce())) }

// StopOf returns the Stop of this kind that is in force at a service or at every service, and whether there is one. subject is empty unless
// the kind has subjects.
func (v *View) StopOf(service string, kind StopKind, subject string) (Stop, bool) {
	stops := v.inForce()
	if len(stops) == 0 {
		return Stop{}, false
	}
	stop, found := stops[stopKey{service, kind, subject}]
	if !found {
		stop, found = stops[stopKey{"", kind, subject}]
	}
	return stop, found
}

// Stopped returns a *StoppedError if a Stop of this kind is in force at this service, and nil otherwise. subject is empty unless the kind
// has subjects. It reads only the View, and not the store.
func (v *Verifier) Stopped(kind StopKind, subject string) error {
	if _, stopped := v.c.View.StopOf(v.c.Service, kind, subject); stopped {
		return &StoppedError{kind}
	}
	return nil
}

// StoppedCall returns a *StoppedError if the operator has stopped calls like this one: those of a PAT, through a door, to an intent. It is
// like Stopped. charged means that the call is charged.
func (v *Verifier) StoppedCall(c *Claims, door, intent string, charged bool) error {
	if len(v.c.View.inForce()) == 0 {
		return nil
	}
	checks := []struct {
		kind    StopKind
		subject string
		applies bool
	}{
		{StopService, "", true},
		{StopDoor, door, true},
		{StopConsent, "", c.Assurance == Consent},
		{StopAgent, string(c.Subject), true},
		{StopAgent, string(c.Principal().Record()), true},
		{StopIntent, intent, true},
		{StopCharging, "", charged},
	}
	for _, check := range checks {
		if !check.applies {
			continue
		}
		if err := v.Stopped(check.kind, check.subject); err != nil {
			return err
		}
	}
	return nil
}
