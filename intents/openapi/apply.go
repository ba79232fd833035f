package openapi

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/intents/openapi/terms"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A CurationEffect is the effect of an edited curation on the other files of a configuration, as far as it does not depend on the document.
type CurationEffect struct {
	Agents []byte // the new agents.json; nil: it does not change
	Policy []byte // the new policy; nil: it does not change
	// Changes describe what changes in these files, and Waiting what only the next run of uimgate init changes. Both are lines for people.
	Changes, Waiting []string
}

// Apply returns the effect of an edited curation. was and now are the texts of the curation before and after the edit, and live
// returns the terms of an intent under the policy. Texts, prices and limits of operations change if agents.json has their intents, and
// intents of operations that are newly hidden are retired. The error wraps ErrCuration, or concerns agents.json or the policy.
func Apply(was, now, agents, policy []byte, live func(uid string) Terms) (CurationEffect, error) {
	before, err := curation.Read(was)
	if err != nil {
		return CurationEffect{}, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	after, err := curation.Read(now)
	if err != nil {
		return CurationEffect{}, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	a := &applier{live: live}
	if a.tree, err = strictjson.DecodeObject(bytes.Clone(agents)); err != nil {
		return CurationEffect{}, fmt.Errorf("%s is not valid JSON: %w", AgentsFile, err)
	}
	a.offered = intentsOf(a.tree)
	if a.policy, err = terms.Read(policy); err != nil {
		a.policy = nil // prices and limits wait
	}
	for _, key := range slices.Sorted(maps.Keys(after.Operations)) {
		old, known := before.Operations[key]
		if o := after.Operations[key]; !known || o.UID != old.UID {
			if err := checkUID(key, o.UID); err != nil {
				return CurationEffect{}, err
			}
			a.wait(key, "is new or has another uid")
		} else if o != old {
			a.operation(key, old, o)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before.Operations)) {
		if _, left := after.Operations[key]; !left {
			a.wait(key, "is no longer listed, so the selection decides about it")
		}
	}
	if fmt.Sprint(before.Selection) != fmt.Sprint(after.Selection) {
		a.out.Waiting = append(a.out.Waiting, "the selection applies to operations that are not listed")
	}
	return a.result()
}

// intentsOf returns the intents in agents.json, by UID.
func intentsOf(agents map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, v := range read.List(agents["intents"]) {
		out[read.Text(read.Object(v)["intent_uid"])] = read.Object(v)
	}
	return out
}

func checkUID(key, uid string) error {
	if uid == "" {
		return nil
	}
	if _, err := intents.ParseUID(uid); err != nil {
		return fmt.Errorf("%w: %s: operations.%s.uid: %w", ErrCuration, CurationFile, key, err)
	}
	return nil
}

// An applier applies the changes of a curation to the other files.
type applier struct {
	out      CurationEffect
	tree     map[string]any
	offered  map[string]map[string]any // the intents in agents.json, by UID
	edited   bool                      // agents.json changes
	policy   *terms.Policy             // nil: it has a form that cannot be edited
	repriced bool
	live     func(uid string) Terms
}

func (a *applier) wait(key, what string) { a.out.Waiting = append(a.out.Waiting, key+" "+what) }

func (a *applier) change(uid, what string) { a.out.Changes = append(a.out.Changes, uid+": "+what) }

// operation applies the changes of one operation.
func (a *applier) operation(key string, old, o curation.Operation) {
	in := a.offered[o.UID]
	switch {
	case o.Hidden == curation.Hidden && in != nil: // the intent keeps up with the curation, so that it can be offered again
		if !read.Flag(in["retired"]) || in["retire_after"] != nil {
			in["retired"], a.edited = true, true // not removed, because the policy may name it
			delete(in, "retire_after")
			a.change(o.UID, "is retired: agents can no longer call it")
		}
	case o.Hidden == curation.Hidden:
		return
	case in == nil:
		a.wait(key, "is not in "+AgentsFile+" yet")
		return
	case old.Hidden == curation.Hidden && read.Flag(in["retired"]) && in["retire_after"] == nil && in["replaced_by"] == nil:
		delete(in, "retired")
		a.edited = true
		a.change(o.UID, "is offered again")
	}
	for _, t := range []struct{ member, before, after string }{
		{"intent_name", old.Name, o.Name}, {"description", string(old.Description), string(o.Description)},
	} {
		switch {
		case t.before == t.after:
		case t.after == "":
			a.wait(key, "gets the "+t.member+" of the document")
		default:
			in[t.member], a.edited = t.after, true
			a.change(o.UID, t.member+" is changed")
		}
	}
	if o.Price != old.Price || o.Limit != old.Limit {
		a.terms(key, old, o)
	}
	if o.Agreement != old.Agreement {
		a.wait(key, "has another rule about agreements, which is in "+ConfigFile)
	}
}

// terms applies another price and limit of one operation.
func (a *applier) terms(key string, old, o curation.Operation) {
	now := a.live(o.UID)
	price, rate := now.Price, limit.Rate{}
	if o.Price != old.Price {
		price = o.Price
	}
	if o.Limit != old.Limit {
		rate = o.Limit
	}
	later := Terms{Permitted: now.Permitted, Price: price, Limit: now.Limit}
	if rate.Period != "" {
		later.Limit = rate
	}
	switch {
	case o.Limit != old.Limit && rate.Period == "" && price == now.Price:
		a.wait(key, "gets the initial limit")
	case a.policy == nil || !now.Certain || len(a.policy.Set([]string{o.UID}, price, rate)) > 0:
		a.wait(key, "keeps its price and limit: edit the policy, because "+terms.ErrForm.Error())
	default:
		a.repriced = true
		for _, what := range now.Changes(later) {
			a.change(o.UID, what)
		}
	}
}

// result returns the new files.
func (a *applier) result() (CurationEffect, error) {
	if a.edited {
		a.out.Agents = encode(a.tree)
	}
	if a.repriced {
		text, err := a.policy.Bytes()
		if err != nil {
			return CurationEffect{}, err
		}
		a.out.Policy = text
	}
	return a.out, nil
}

// SetOperation returns the text of a curation with other decisions about one listed operation. It keeps everything else as people wrote it.
// The error wraps ErrCuration.
func SetOperation(text []byte, key string, change func(*curation.Operation)) ([]byte, error) {
	f, err := curation.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	o, listed := f.Operations[key]
	if !listed {
		return nil, fmt.Errorf("%w: %s does not list the operation %s", ErrCuration, CurationFile, key)
	}
	change(&o)
	f.Operations[key] = o
	out, err := f.Text()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	if _, err := curation.Read(out); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	return out, nil
}
