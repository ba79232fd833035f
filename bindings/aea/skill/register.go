package skill

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

const (
	// registerEvery is the interval at which the intents are compared with the registrations. A message that could not be sent, for example
	// while the connection opens, is sent again after retryEvery.
	registerEvery, retryEvery = 30 * time.Second, 5 * time.Second
	// renewAfter is how long a registration is left unchanged. Directories keep one for at least an hour.
	renewAfter = 20 * time.Minute
	// registersWithin is how long a directory may take to reply.
	registersWithin = time.Minute
)

// placeKey is the key of the location among the registered descriptions. It is not the uid of an intent.
const placeKey = "location"

// errRegistration means that a directory refused a registration or did not reply.
var errRegistration = errors.New("the directory refused a registration or did not reply")

// A registrar registers the location and the intents of a service in one directory, one description at a time: it sends the next one when
// the directory has replied to the one before. It renews registrations, and takes back those of intents that are no longer offered.
type registrar struct {
	*Skill
	inside bool // the directory is a skill of the same agent

	mu       sync.Mutex
	present  map[string]registration // by the uid of the intent, or placeKey
	steps    []step
	asked    string // starter reference of the dialogue of steps[0]; empty: none is open
	askedAt  time.Time
	failures int
	acted    time.Time // zero: the last message could not be sent
	prices   prices
}

// A registration is a description that the directory has.
type registration struct {
	description []byte
	at          time.Time
}

// A step registers a description or takes it back.
type step struct {
	key          string
	performative protocol.Performative
	description  []byte
}

func newRegistrar(s *Skill, inside bool) *registrar {
	return &registrar{Skill: s, inside: inside, present: map[string]registration{}}
}

func (r *registrar) name() string {
	if r.inside {
		return "register intents"
	}
	return "register intents elsewhere"
}

// opening returns the first message of a dialogue with the directory, without its content. ok is false if there is no directory.
func (r *registrar) opening() (o runtime.FirstMessage, ok bool) {
	o.Spec = protocol.OEFSearch.Specs[0]
	if r.inside {
		o.Skill, o.To = ID, directory.ID.String()
		return o, r.Runtime.Filter().Enabled(directory.ID)
	}
	to := r.variables.Load().Directory
	o.To, o.Context.ConnectionID = to.Address, to.Connection
	return o, to.Address != ""
}

// moved takes the registrations back from a directory that the configuration no longer names.
func (r *registrar) moved() {
	_ = r.stop(context.Background()) // a directory that cannot be reached ends the registrations by itself
	r.reset()
}

// reset forgets the registrations, so that all descriptions are registered again.
func (r *registrar) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.present, r.steps, r.asked = map[string]registration{}, nil, ""
}

// retry calls act, unless act ran within registerEvery and could send its message.
func (r *registrar) retry(ctx context.Context) error {
	r.mu.Lock()
	due := r.Now().Sub(r.acted) >= registerEvery
	r.mu.Unlock()
	if !due {
		return nil
	}
	return r.act(ctx)
}

// act determines the changes that the directory needs, and begins to change it. It returns an error if a registration failed since the last
// call.
func (r *registrar) act(ctx context.Context) error {
	if _, ok := r.opening(); !ok {
		r.reset()
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	r.acted = now
	if r.asked != "" && now.Sub(r.askedAt) < registersWithin {
		return nil
	}
	if r.asked != "" {
		r.failures++
	}
	failed := r.failures > 0
	r.failures, r.asked = 0, ""
	r.steps = r.plan(ctx, now)
	if err := r.next(now); err != nil {
		r.acted = time.Time{}
		return err
	}
	if failed {
		return errRegistration
	}
	return nil
}

// plan returns the steps that are due.
func (r *registrar) plan(ctx context.Context, now time.Time) (steps []step) {
	wanted := r.wanted(ctx)
	for _, key := range slices.Sorted(maps.Keys(r.present)) {
		if _, still := wanted[key]; !still {
			steps = append(steps, step{key, protocol.OEFUnregisterService, r.present[key].description})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		old, known := r.present[key]
		changed := known && string(old.description) != string(wanted[key])
		if changed && key != placeKey {
			steps = append(steps, step{key, protocol.OEFUnregisterService, old.description})
		}
		if !known || changed || now.Sub(old.at) >= renewAfter {
			steps = append(steps, step{key, protocol.OEFRegisterService, wanted[key]})
		}
	}
	return steps
}

// wanted returns the descriptions that the directory should have.
func (r *registrar) wanted(ctx context.Context) map[string][]byte {
	wanted := map[string][]byte{}
	s := r.Serving()
	if s == nil {
		return wanted
	}
	v := r.variables.Load()
	place := search.KeyValue{Key: attributeLocation, Value: v.Location}
	wanted[placeKey] = search.Describe(directory.ModelLocation, place).Encode()
	r.prices.update(ctx, s)
	for _, in := range s.Offered() {
		is := describe(in)
		r.prices.add(is, in.ID)
		wanted[in.ID] = registered(v.aliased(is)).Encode()
	}
	return wanted
}

// next sends the first step. If that fails, the remaining steps are left for the next act. The caller must hold the lock.
func (r *registrar) next(now time.Time) error {
	if len(r.steps) == 0 {
		return nil
	}
	o, ok := r.opening()
	if !ok {
		return nil
	}
	o.Content = protocol.OEFMessage{Performative: r.steps[0].performative, Description: r.steps[0].description}
	d, err := r.Runtime.Open(o)
	if err != nil {
		r.steps = nil
		return err
	}
	r.asked, r.askedAt = d.Label().StarterRef, now
	return nil
}

// replied processes the reply of the directory to the step in the dialogue with this reference. It reports whether there is one.
func (r *registrar) replied(reference string, success bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == "" || r.asked != reference {
		return false
	}
	done, now := r.steps[0], r.Now()
	r.steps, r.asked = r.steps[1:], ""
	switch {
	case done.performative == protocol.OEFUnregisterService: // a directory that does not have it has ended it
		delete(r.present, done.key)
	case success:
		r.present[done.key] = registration{done.description, now}
	default:
		r.failures++
	}
	if r.next(now) != nil {
		r.failures++
	}
	return true
}

// stop takes all registrations back. It unregisters the location, which removes the agent from the directory.
func (r *registrar) stop(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	place, known := r.present[placeKey]
	o, ok := r.opening()
	if !known || !ok {
		return nil
	}
	o.Content = protocol.OEFMessage{Performative: protocol.OEFUnregisterService, Description: place.description}
	_, err := r.Runtime.Open(o)
	if r.inside && errors.Is(err, runtime.ErrStopped) { // the directory ends as well
		return nil
	}
	return err
}

// found handles a message of oef_search: a reply of a directory. Requests are for the search skill. If this skill is missing or
// disabled, a request gets an error.
func (s *Skill) found(_ context.Context, m runtime.Message) error {
	message, ok := m.Content.(protocol.OEFMessage)
	if !ok || m.Dialogue == nil {
		return nil
	}
	operation := protocol.OEFOperationRegister
	switch message.Performative {
	case protocol.OEFSuccess, protocol.OEFError:
		for _, r := range s.registrars {
			if r.inside == m.Inside() && r.replied(m.Dialogue.Label().StarterRef, message.Performative == protocol.OEFSuccess) {
				return nil
			}
		}
		return nil
	case protocol.OEFUnregisterService:
		operation = protocol.OEFOperationUnregister
	case protocol.OEFSearchServices:
		operation = protocol.OEFOperationSearch
	case protocol.OEFRegisterService:
	default:
		return nil
	}
	if s.Runtime.Filter().Enabled(directory.ID) {
		return nil
	}
	return m.Reply(protocol.OEFMessage{Performative: protocol.OEFError, Operation: operation})
}
