package verify

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// searchFilter makes a search that must find one intent, given by the parameter in, and must find only intents for which match returns
// true. If the response has further pages, that intent may be on one of them.
func (v *verification) searchFilter(ctx context.Context, in *intents.Intent, name, value string, match func(map[string]any) bool) finding {
	p, f := v.search(ctx, name, value)
	if f.Outcome != Holds {
		return f
	}
	total, counted := p.number("total_results")
	found := false
	for _, m := range p.intents {
		if !match(m) {
			return wrong("it finds %s, which does not match", uidOf(m))
		}
		found = found || uidOf(m) == in.UID.String()
	}
	if !found && (!counted || total <= len(p.intents)) {
		return wrong("it does not find %s", in.UID)
	}
	return pass
}

// exampleIntent returns an intent to search for: one that is not retired, and for which the function has returns true. It returns nil if
// there is none.
func (v *verification) exampleIntent(has func(*intents.Intent) bool) *intents.Intent {
	list := v.Catalog.Intents()
	i := slices.IndexFunc(list, func(in *intents.Intent) bool { return !in.Retired && has(in) })
	if i < 0 {
		return nil
	}
	return list[i]
}

func (v *verification) searchUID(ctx context.Context) finding {
	in := v.exampleIntent(func(*intents.Intent) bool { return true })
	if in == nil {
		return skipped("no intent can be searched for")
	}
	return v.searchFilter(ctx, in, "uid", in.UID.String(), func(m map[string]any) bool { return uidOf(m) == in.UID.String() })
}

func (v *verification) searchName(ctx context.Context) finding {
	names := map[string]string{}
	v.eachIntent(func(_ string, m map[string]any) { names[uidOf(m)], _ = m["intent_name"].(string) })
	in := v.exampleIntent(func(in *intents.Intent) bool { return names[in.UID.String()] != "" })
	if in == nil {
		return skipped("no intent has an intent_name")
	}
	name := names[in.UID.String()]
	return v.searchFilter(ctx, in, "intent_name", name, func(m map[string]any) bool {
		text, _ := m["intent_name"].(string)
		return text == "" || strings.Contains(strings.ToLower(text), strings.ToLower(name))
	})
}

func (v *verification) searchTags(ctx context.Context) finding {
	in := v.exampleIntent(func(in *intents.Intent) bool { return len(in.Tags) > 0 && !strings.Contains(in.Tags[0], ",") })
	if in == nil {
		return skipped("no intent has tags")
	}
	return v.searchFilter(ctx, in, "tags", in.Tags[0], func(m map[string]any) bool {
		named := func(t any) bool { return strings.EqualFold(fmt.Sprint(t), in.Tags[0]) }
		return slices.ContainsFunc(strictjson.AsList(v.member(m, "tags")), named)
	})
}

func (v *verification) searchCategory(ctx context.Context) finding {
	in := v.exampleIntent(func(in *intents.Intent) bool { return in.Category != "" })
	if in == nil {
		return skipped("no intent has a category")
	}
	return v.searchFilter(ctx, in, "category", in.Category, func(m map[string]any) bool {
		text, _ := v.member(m, "category").(string)
		return strings.EqualFold(text, in.Category)
	})
}

func (v *verification) searchDescription(ctx context.Context) finding {
	var word string
	in := v.exampleIntent(func(in *intents.Intent) bool {
		for w := range strings.FieldsSeq(in.Description) {
			if len(w) > len(word) && !strings.ContainsFunc(w, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
				word = w
			}
		}
		return word != ""
	})
	if in == nil {
		return skipped("no description contains a word of only letters")
	}
	return v.searchFilter(ctx, in, "description", word, func(map[string]any) bool { return true })
}

func (v *verification) searchNothing(ctx context.Context) finding {
	p, f := v.search(ctx, "uid", v.unknownUID())
	if p.answer.Status == http.StatusNotFound {
		return pass
	}
	if f.Outcome != Holds {
		return f
	}
	if len(p.intents) > 0 {
		return wrong("a search for an unknown uid finds %s", uidOf(p.intents[0]))
	}
	return pass
}

// unknownUID returns a uid in the service's namespace that the service does not have.
func (v *verification) unknownUID() string {
	space := "example.com"
	if spaces := v.Catalog.Namespaces(); len(spaces) > 0 {
		space = spaces[0]
	}
	return space + ":" + unknownIntent + ":v1"
}

// unknownIntent is the name of an intent that no service has.
const unknownIntent = "uimgate-verify-no-such-intent"
