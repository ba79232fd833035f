package directory

import (
	"container/list"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// The limits of a registry.
const (
	maxDescription = 16 << 10 // bytes of an encoded description
	maxPerAgent    = 64       // descriptions of one agent, and keys in its profile
	maxAgents      = 8192
	maxBytes       = 32 << 20 // of the encoded descriptions of other agents; each counts as at least minWeight
	minWeight      = 512      // bytes, because a decoded description takes more memory than a short encoded one
	maxTags        = 64       // tags of a description of another agent
	maxOwn         = 100_000  // descriptions of the agent that has the registry
	maxFound       = 100      // agents in the result of a search
	maxTests       = 4 << 20  // comparisons of a search, which take less than a tenth of a second
	// expiry is how long a registration is valid if its connection does not notice that the agent leaves.
	expiry = time.Hour
)

// Names of the data models with which the framework's skills describe an agent piece by piece, and of the model of an intent.
const (
	ModelLocation    = "location_agent"
	modelSetService  = "set_service_key"
	modelRemove      = "remove_service_key"
	modelPersonality = "personality_agent"
	ModelIntent      = "uim_intent"
	// AttributeTags is the attribute of ModelIntent whose value is a list, separated by commas.
	AttributeTags = "tags"
)

// Errors of a registry. The sender of a registration is notified only of the failure, not of the error.
var (
	errInvalid    = errors.New("the description has no values, or too many, or is too long")
	errFull       = errors.New("too many registrations")
	errNotPresent = errors.New("the description is not registered")
	errTooMuch    = errors.New("the search takes too many comparisons")
)

// A registry holds the descriptions of agents. It is safe for concurrent use.
type registry struct {
	now func() time.Time

	mu     sync.RWMutex
	agents map[runtime.Peer]*registrant
	order  list.List // of *registrant, in the order of their first registration
	proven map[string]int
	bytes  int
	count  int       // of descriptions
	swept  time.Time // when sweep ran last
}

// A registrant is an agent with its descriptions. All descriptions share its profile.
type registrant struct {
	peer    runtime.Peer
	address string
	own     bool
	profile search.Attributes
	// descriptions has the descriptions with separate models, by their encoding.
	descriptions map[string]*view
	sizes        map[string]int // weights of the parts of the profile
	until        time.Time      // zero: until the peer leaves
	place        *list.Element
}

// A view is a description together with the profile of its agent. It implements search.Source.
type view struct {
	model   string
	values  search.Attributes
	profile search.Attributes
	width   int // the maximum number of values of an attribute
}

// Values implements search.Source.
func (v *view) Values(attribute string) []search.Value {
	if values := v.values[attribute]; len(values) > 0 {
		return values
	}
	return v.profile[attribute]
}

// weight returns the number of bytes that an encoded description of this size counts as.
func weight(size int) int { return max(size, minWeight) }

func newRegistry(now func() time.Time) *registry {
	return &registry{now: now, agents: map[runtime.Peer]*registrant{}, proven: map[string]int{}}
}

// register adds a description of an agent. own means that it describes the agent that has the registry. data is the encoded description.
func (r *registry) register(peer runtime.Peer, address string, own bool, d search.Description, data []byte) error {
	if len(d.Values) == 0 || d.Model.Name == modelRemove || len(data) > maxDescription {
		return errInvalid
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.current(peer)
	if one == nil {
		if len(r.agents) >= maxAgents && !own {
			return errFull
		}
		one = &registrant{
			peer: peer, address: address, own: own, profile: search.Attributes{}, descriptions: map[string]*view{}, sizes: map[string]int{},
		}
	}
	if err := r.describe(one, d, data); err != nil {
		return err
	}
	if !peer.HasSession() {
		one.until = r.now().Add(expiry)
	}
	if one.place == nil {
		one.place = r.order.PushBack(one)
		r.agents[peer] = one
		if peer.Proven {
			r.proven[address]++
		}
	}
	return nil
}

// weigh adds n to the bytes of the descriptions of other agents, unless the registrant is the agent of the directory.
func (r *registry) weigh(one *registrant, n int) {
	if !one.own {
		r.bytes += n
	}
}

// describe adds a description to a registrant.
func (r *registry) describe(one *registrant, d search.Description, data []byte) error {
	if key, value, ok := piece(d); ok {
		n := weight(len(data))
		if one.sizes[key] == 0 && len(one.sizes) >= maxPerAgent || !one.own && r.bytes-one.sizes[key]+n > maxBytes {
			return errFull
		}
		r.weigh(one, n-one.sizes[key])
		one.sizes[key], one.profile[key] = n, []search.Value{value}
		return nil
	}
	if one.descriptions[string(data)] != nil {
		return nil // registered again
	}
	limit := maxPerAgent
	if one.own {
		limit = maxOwn
	} else if r.bytes+weight(len(data)) > maxBytes {
		return errFull
	}
	if len(one.descriptions) >= limit {
		return errFull
	}
	v := &view{model: d.Model.Name, values: attributes(d), profile: one.profile}
	if v.width = max(1, len(v.values[AttributeTags])); v.width > maxTags && !one.own {
		return errInvalid
	}
	one.descriptions[string(data)] = v
	r.count++
	r.weigh(one, weight(len(data)))
	return nil
}

// attributes returns the values of a description. The tags of an intent are one string on the wire.
func attributes(d search.Description) search.Attributes {
	all := d.Attributes()
	if tags, ok := d.Value(AttributeTags).(search.Text); ok && d.Model.Name == ModelIntent {
		all[AttributeTags] = nil
		for tag := range strings.SplitSeq(string(tags), ",") {
			all[AttributeTags] = append(all[AttributeTags], search.Text(strings.TrimSpace(tag)))
		}
	}
	return all
}

// piece returns the part of a profile that a description with one of the framework's models sets or removes.
func piece(d search.Description) (key string, value search.Value, ok bool) {
	text := func(name string) string {
		t, _ := d.Value(name).(search.Text)
		return string(t)
	}
	switch d.Model.Name {
	case ModelLocation:
		place, isPlace := d.Value("location").(search.Location)
		return "location", place, isPlace
	case modelSetService, modelRemove:
		key, value = text("key"), d.Value("value")
	case modelPersonality:
		key, value = text("piece"), d.Value("value")
	}
	return key, value, key != "" && (value != nil || d.Model.Name == modelRemove)
}

// unregister removes a description, or all descriptions of an agent if d has no values or is a location. It returns
// errNotPresent if there is nothing to remove.
func (r *registry) unregister(peer runtime.Peer, d search.Description, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.current(peer)
	if one == nil {
		return errNotPresent
	}
	key, _, isPiece := piece(d)
	switch {
	case len(d.Values) == 0, d.Model.Name == ModelLocation:
		r.forget(one)
		return nil
	case isPiece && one.sizes[key] > 0:
		r.weigh(one, -one.sizes[key])
		delete(one.sizes, key)
		delete(one.profile, key)
	case !isPiece && one.descriptions[string(data)] != nil:
		delete(one.descriptions, string(data))
		r.count--
		r.weigh(one, -weight(len(data)))
	default:
		return errNotPresent
	}
	if len(one.sizes)+len(one.descriptions) == 0 {
		r.forget(one)
	}
	return nil
}

// search returns the addresses of the agents that match a query, at most maxFound, in the order of their registration. It does not return
// the agent that searches. A query with a model and without constraints matches the descriptions with a model of this name. The error is
// errTooMuch if the search takes more than maxTests comparisons.
func (r *registry) search(q search.Query, by string) ([]string, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now, tests, left := r.now(), max(1, q.Tests()), maxTests
	var found []string
	for e := r.order.Front(); e != nil && len(found) < maxFound; e = e.Next() {
		one, _ := e.Value.(*registrant)
		if one.address == by || one.gone(now) || !one.peer.Proven && r.proven[one.address] > 0 {
			continue
		}
		if one.matches(q, tests, &left) && !slices.Contains(found, one.address) {
			found = append(found, one.address)
		}
		if left < 0 {
			return nil, errTooMuch
		}
	}
	return found, nil
}

// matches reports whether the agent matches a query with the given number of tests. It reduces left by the comparisons that it makes, and
// stops when left is negative.
func (one *registrant) matches(q search.Query, tests int, left *int) bool {
	byModel := q.Model != nil && len(q.Constraints) == 0 && q.Model.Name != ""
	if *left -= tests; !byModel && q.Matches(one.profile) {
		return true
	}
	for _, v := range one.descriptions {
		if *left -= tests * v.width; *left < 0 {
			return false
		}
		if byModel && v.model == q.Model.Name || !byModel && q.Matches(v) {
			return true
		}
	}
	return false
}

// gone reports whether the registrations of an agent have ended.
func (one *registrant) gone(now time.Time) bool {
	return !one.peer.Connected() || !one.until.IsZero() && !now.Before(one.until)
}

// current returns the registrant of a peer, or nil. It first removes ended registrations, at most once a second.
func (r *registry) current(peer runtime.Peer) *registrant {
	now := r.now()
	if now.Sub(r.swept) >= time.Second {
		r.sweep(now)
	}
	one := r.agents[peer]
	if one != nil && one.gone(now) {
		r.forget(one)
		return nil
	}
	return one
}

// sweep removes the agents whose registrations have ended.
func (r *registry) sweep(now time.Time) {
	r.swept = now
	for e := r.order.Front(); e != nil; {
		one, _ := e.Value.(*registrant)
		if e = e.Next(); one.gone(now) {
			r.forget(one)
		}
	}
}

func (r *registry) forget(one *registrant) {
	for _, n := range one.sizes {
		r.weigh(one, -n)
	}
	for data := range one.descriptions {
		r.weigh(one, -weight(len(data)))
	}
	r.count -= len(one.descriptions)
	r.order.Remove(one.place)
	delete(r.agents, one.peer)
	if one.peer.Proven {
		if r.proven[one.address]--; r.proven[one.address] == 0 {
			delete(r.proven, one.address)
		}
	}
}

// forgetOld removes the agents whose registrations have ended.
func (r *registry) forgetOld() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(r.now())
}

// A Status counts the registrations.
type Status struct {
	Agents       int `json:"agents"`
	Descriptions int `json:"descriptions"` // without those that set only a part of the profile of an agent
	Bytes        int `json:"bytes"`        // of the descriptions of other agents; each counts as at least 512
}

func (r *registry) status() Status {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return Status{Agents: len(r.agents), Descriptions: r.count, Bytes: r.bytes}
}

// ID identifies the skill inside the agent of a service.
var ID = wire.PublicID{Author: "uimgate", Name: "search", Version: "1.0.0"}
