package openapi

import (
	"fmt"
	"maps"
	"slices"
)

// together maps each member of an intent that makes sense only with others to the name of their part.
var together = map[string]string{"endpoint": "call", "input_parameters": "call", "safe": "call"}

func part(member string) string {
	if p, ok := together[member]; ok {
		return p
	}
	return member
}

// parts groups the members of an intent by their part.
func parts(tree map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for name, v := range tree {
		p := part(name)
		if out[p] == nil {
			out[p] = map[string]any{}
		}
		out[p][name] = v
	}
	return out
}

func digests(tree map[string]any) map[string]string {
	out := map[string]string{}
	for name, members := range parts(tree) {
		out[name] = digest(members)
	}
	return out
}

// merge returns the intent with each part taken from fresh, the intent of the document, unless the operator has edited that part in have.
func (u *update) merge(have, fresh map[string]any, uid string) map[string]any {
	u.fresh.Intents[uid] = digests(fresh)
	out, changed, held := combine(have, fresh, u.last.Intents[uid])
	if u.last.Intents[uid] != nil {
		u.report(uid, held)
	}
	if len(changed) == 0 {
		u.result.Same++
		return out
	}
	u.result.Changed++
	if reasons := u.breaking[uid]; len(reasons) > 0 {
		u.change(Change{Kind: Breaking, UID: uid, Details: reasons})
	} else {
		u.change(Change{Kind: Changed, UID: uid, Details: changed})
	}
	return out
}

// report adds a message for each part of an intent that was edited and also changed in the document.
func (u *update) report(uid string, held []string) {
	for _, name := range held {
		u.result.Messages = append(u.result.Messages,
			fmt.Sprintf("%s: %s was edited and is kept, although the document has changed it as well", uid, name))
	}
}

// combine returns an intent with each part taken from fresh, unless it was edited: then its digest differs from that in last, and the part
// is taken from have. changed has the names of the parts that differ from have, and held those that were edited and that fresh has also
// changed.
func combine(have, fresh map[string]any, last map[string]string) (out map[string]any, changed, held []string) {
	present, converted := parts(have), parts(fresh)
	out = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(unionOf(present, converted))) {
		was, now, next := last[name], digest(present[name]), digest(converted[name])
		if present[name] == nil {
			now = ""
		}
		if converted[name] == nil {
			next = ""
		}
		if now != was && now != next { // edited
			maps.Copy(out, present[name])
			if next != was {
				held = append(held, partName(name))
			}
			continue
		}
		if now != next {
			changed = append(changed, partName(name))
		}
		maps.Copy(out, converted[name])
	}
	return out, changed, held
}

func partName(name string) string {
	if name == "call" {
		return "endpoint and input_parameters"
	}
	return name
}

func unionOf(a, b map[string]map[string]any) map[string]bool {
	out := map[string]bool{}
	for name := range a {
		out[name] = true
	}
	for name := range b {
		out[name] = true
	}
	return out
}
