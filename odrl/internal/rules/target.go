package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/vocabulary"
)

// A Target is a set of intents under one canonical name, which limits and decisions use. The name is the UID of one intent or, for a
// collection, "*", "<namespace>:*", "<namespace>:<name>:*" or "execute/<intent_name>". The name stays the same when the catalogue
// changes, but the members may change.
type Target struct {
	Name    string
	members []int // indexes into World.Intents, ascending
}

// EveryIntent is the collection of all intents of the service.
const EveryIntent = "*"

// A World holds the things that the names in a policy refer to.
type World struct {
	// Hosts are the hosts (host or host:port, in lowercase) whose IRIs targets may use to name intents.
	Hosts []string
	// Intents are the assets.
	Intents []Asset
	// Retired are former assets. A policy may still name them, without effect.
	Retired []Asset
	// Parties maps an IRI in a policy to the agent that it names.
	Parties map[string]Party
	// AnyAssignee means that an assignee that is not in Parties is read as every agent.
	AnyAssignee bool
	// Vocabularies are the vocabularies of the known profiles.
	Vocabularies []*vocabulary.Vocabulary
}

// An Asset is one intent, with the names that a policy may use for it.
type Asset struct {
	UID       string // namespace:name:version
	Namespace string
	Name      string // the middle of the UID
	Title     string // intent_name
}

// A Party is an agent that a policy may name.
type Party struct {
	AgentID string
	KeyID   string // RFC 7638 thumbprint; empty means any key of the agent
}

// A Catalog is a World prepared for lookups. It resolves each target once into a set of intents, so that IRIs need not be compared by
// prefix.
type Catalog struct {
	World
	hosts    map[string]bool
	hostList []string
	byName   map[string][]int // canonical collection name or UID → members
	byTitle  map[string][]int
	byMiddle map[string][]int
	facts    *model.Facts // the facts of the document; nil if there are none
	cache    map[string]resolution
	past     *Catalog // the catalogue of retired intents; nil if there are none
}

type resolution struct {
	target *Target
	err    error
}

func newWorld(w World) *Catalog {
	x := &Catalog{
		World: w, hosts: map[string]bool{}, byName: map[string][]int{}, byTitle: map[string][]int{}, byMiddle: map[string][]int{},
		cache: map[string]resolution{},
	}
	for _, h := range w.Hosts {
		x.addHost(h)
	}
	for i, a := range w.Intents {
		for _, name := range []string{EveryIntent, a.Namespace + ":*", a.Namespace + ":" + a.Name + ":*", a.UID} {
			x.byName[name] = append(x.byName[name], i)
		}
		x.byTitle[a.Title] = append(x.byTitle[a.Title], i)
		x.byMiddle[a.Name] = append(x.byMiddle[a.Name], i)
	}
	if len(w.Retired) > 0 {
		x.past = newWorld(World{Hosts: w.Hosts, Intents: w.Retired})
	}
	return x
}

// retired reports whether a target names only retired intents.
func (w *Catalog) retired(iri string) bool {
	if w.past == nil {
		return false
	}
	_, err := w.past.resolve(iri)
	return err == nil
}

func (w *Catalog) addHost(h string) {
	h = strings.ToLower(h)
	if h != "" && !w.hosts[h] {
		w.hosts[h] = true
		w.hostList = append(w.hostList, h)
	}
}

// Members returns the UIDs of the intents that a target of the policy names. It returns false if the target names neither these nor
// retired intents.
func (w *Catalog) Members(iri string) (uids []string, ok bool) {
	_, members, err := w.find(iri)
	if err != nil || len(members) == 0 {
		members = w.collection(iri)
	}
	for _, i := range members {
		uids = append(uids, w.Intents[i].UID)
	}
	return uids, len(uids) > 0 || w.retired(iri)
}

// resolve returns the intents that a target of the policy names. If there are none, the error suggests similar names.
func (w *Catalog) resolve(iri string) (*Target, error) {
	if known, ok := w.cache[iri]; ok {
		return known.target, known.err
	}
	name, members, err := w.find(iri)
	if len(members) == 0 {
		if list := w.collection(iri); len(list) > 0 {
			name, members, err = iri, list, nil
		}
	}
	if err == nil && len(members) == 0 {
		err = fmt.Errorf("%s names no intent of this service%s", model.Quote(iri), model.Suggest(iri, w.uids()))
	}
	known := resolution{err: err}
	if err == nil {
		known.target = &Target{name, members}
	}
	w.cache[iri] = known
	return known.target, known.err
}

// collection returns the intents that are part of a collection according to the document. See ODRL IM, section 2.2.2.
func (w *Catalog) collection(iri string) []int {
	if w.facts == nil {
		return nil
	}
	var list []int
	for _, member := range w.facts.Members(iri) {
		if _, members, err := w.find(member); err == nil {
			list = append(list, members...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (w *Catalog) uids() []string {
	const most = 1000 // bounds the cost of a suggestion
	var list []string
	for _, a := range w.Intents[:min(len(w.Intents), most)] {
		list = append(list, a.UID)
	}
	return list
}

func (w *Catalog) find(iri string) (string, []int, error) {
	if _, web := model.Bare(iri); !web {
		return w.uid(iri)
	}
	u, err := url.Parse(iri)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", nil, fmt.Errorf("%s is not a plain URL of an intent", model.Quote(iri))
	}
	if !w.hosts[strings.ToLower(u.Host)] {
		return "", nil, fmt.Errorf("%s is at the host %s, which is not a host of this service (%s)", model.Quote(iri), model.Quote(u.Host),
			w.hostNames())
	}
	var path []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(u.EscapedPath(), "/"), "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." {
			return "", nil, fmt.Errorf("%s has a path that names no intent", model.Quote(iri))
		}
		path = append(path, plain)
	}
	switch {
	case len(path) == 2 && path[0] == "api" && path[1] == "intents":
		return EveryIntent, w.byName[EveryIntent], nil
	case len(path) == 3 && path[0] == "api" && path[1] == "intents":
		return w.uid(path[2])
	case len(path) >= 2 && path[len(path)-2] == "execute":
		return w.intentName(path[len(path)-1])
	default:
		return "", nil, fmt.Errorf("%s names no intent: write /api/intents for all, /api/intents/<uid>, "+
			"…/execute/<intent_name> or the bare UID", model.Quote(iri))
	}
}

// uid finds the intents that namespace:name:version, namespace:name or namespace names.
func (w *Catalog) uid(s string) (string, []int, error) {
	if s == EveryIntent || strings.HasSuffix(s, ":*") {
		return s, nil, nil
	}
	if members := w.byName[s]; len(members) > 0 {
		return s, members, nil
	}
	name := s + ":*"
	return name, w.byName[name], nil
}

func (w *Catalog) intentName(s string) (string, []int, error) {
	members := w.byTitle[s]
	if len(members) == 0 {
		members = w.byMiddle[s]
	}
	if len(members) == 1 {
		return w.Intents[members[0]].UID, members, nil
	}
	return "execute/" + s, members, nil
}

func (w *Catalog) hostNames() string {
	list := slices.Sorted(slices.Values(w.hostList))
	const most = 5
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}
