package toolname

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
)

func uids(t *testing.T, texts ...string) []intents.UID {
	t.Helper()
	var out []intents.UID
	for _, s := range texts {
		uid, err := intents.ParseUID(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, uid)
	}
	return out
}

// nameOf maps each UID to its name.
func nameOf(names map[string]intents.UID) map[intents.UID]string {
	out := map[intents.UID]string{}
	for name, uid := range names {
		out[uid] = name
	}
	return out
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("find-products-", 7) + "ab"
	for name, test := range map[string]struct {
		uids []string
		want []string
	}{
		"name and version":        {[]string{"shop.example:find-products:v1"}, []string{"find-products_v1"}},
		"dots become hyphens":     {[]string{"shop.example:search:v1.2.3"}, []string{"search_v1-2-3"}},
		"other letters stay":      {[]string{"shop.example:searchAll_now:v2"}, []string{"searchAll_now_v2"}},
		"one namespace, versions": {[]string{"a.example:x:v1", "a.example:x:v2"}, []string{"x_v1", "x_v2"}},
		"two namespaces":          {[]string{"a.example:x:v1", "b.example:x:v2"}, []string{"x_v1-e058d8", "x_v2-6a9b3b"}},
		"longest that is not cut": {[]string{"a.example:" + strings.Repeat("a", 45) + ":v1"}, []string{strings.Repeat("a", 45) + "_v1"}},
		"cut":                     {[]string{"a.example:" + long + ":v1"}, []string{long[:41] + "-6dc8b2"}},
		"named once":              {[]string{"a.example:x:v1", "a.example:x:v1"}, []string{"x_v1"}},
		"none":                    {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := slices.Sorted(maps.Keys(Names(uids(t, test.uids...)))); !slices.Equal(got, test.want) {
				t.Errorf("the names of %v are %q, want %q", test.uids, got, test.want)
			}
		})
	}
	if got := Names([]intents.UID{{}}); len(got) != 0 {
		t.Errorf("the zero UID has a name: %v", got)
	}
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`)

// In any catalogue, every intent has a unique valid tool name that does not depend on the order of the intents or on other versions.
func TestNamesAreUniqueAndStable(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	n := strings.Repeat("n", 99)
	names := []string{"a", "a_v1", "search", "search_v1-1", n[:44], n[:46], n + "a", n + "b"}
	one := func() intents.UID {
		version := fmt.Sprintf("v%d", random.IntN(12))
		for range random.IntN(3) {
			version += fmt.Sprintf(".%d", []int{0, 1, 123456, 999999999}[random.IntN(4)])
		}
		return uids(t, fmt.Sprintf("%c.example:%s:%s", 'a'+rune(random.IntN(3)), names[random.IntN(len(names))], version))[0]
	}
	for range 500 {
		var all []intents.UID
		for range 1 + random.IntN(40) {
			all = append(all, one())
		}
		before := nameOf(Names(all))
		if len(before) != len(nameSet(all)) {
			t.Fatalf("%d names for %d intents: %v", len(before), len(nameSet(all)), all)
		}
		for uid, name := range before {
			if !toolName.MatchString(name) {
				t.Fatalf("%v is named %q", uid, name)
			}
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if again := nameOf(Names(all)); !maps.Equal(again, before) {
			t.Fatalf("the names depend on the order:\n%v\n%v", before, again)
		}
		for range 5 { // a new version of an existing intent
			next := all[random.IntN(len(all))]
			next.Version = one().Version
			all = append(all, next)
		}
		after := nameOf(Names(all))
		for uid, name := range before {
			if after[uid] != name {
				t.Fatalf("%v was %q and became %q with a new version of some intent", uid, name, after[uid])
			}
		}
	}
}

func nameSet(all []intents.UID) map[intents.UID]bool {
	out := map[intents.UID]bool{}
	for _, uid := range all {
		out[uid] = true
	}
	return out
}

// Names that are equal with a suffix of 6 digits get more digits.
func TestEqualSuffixes(t *testing.T) {
	t.Parallel()
	// Among a few thousand names with the same prefix, two have the same 6 digits.
	found := map[string]intents.UID{}
	for n := range 1 << 20 {
		uid := intents.UID{Namespace: "a.example", Name: fmt.Sprintf("%s%d", strings.Repeat("a", 60), n), Version: "v1"}
		name := suffixed(plain(uid), uid.String(), digits)
		other, ok := found[name]
		if found[name] = uid; !ok {
			continue
		}
		for name, of := range Names([]intents.UID{uid, other}) {
			if name != suffixed(plain(of), of.String(), moreDigits) || len(name) > Max {
				t.Errorf("%v is named %q", of, name)
			}
		}
		if got := Names([]intents.UID{uid, other}); len(got) != 2 {
			t.Errorf("got %d names for two intents", len(got))
		}
		return
	}
	t.Fatal("no two names have the same 6 digits")
}

func TestUnder(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 45) + "_v1"
	names := map[string]intents.UID{}
	for _, uid := range uids(t, "a.example:x:v1", "a.example:"+strings.Repeat("a", 45)+":v1", "a.example:"+strings.Repeat("a", 45)+":v2") {
		maps.Copy(names, Names([]intents.UID{uid}))
	}
	for label, want := range map[string]string{
		"shop.example": "shop-example_", "127.0.0.1:8080": "127-0-0-1-8080_", "[::1]:80": "1--80_", "SHOP.example": "shop-example_",
		strings.Repeat("l", 60) + ".example": strings.Repeat("l", 15) + "-",
	} {
		got := Under(label, names)
		if len(got) != len(names) {
			t.Errorf("%s: %d names for %d intents", label, len(got), len(names))
		}
		for name, uid := range got {
			if !toolName.MatchString(name) || !strings.HasPrefix(name, want) {
				t.Errorf("%s: %v is named %q", label, uid, name)
			}
		}
	}
	one, other := Under("one.example", names), Under("other.example", names)
	for name := range one {
		if _, both := other[name]; both {
			t.Errorf("two services have the tool %s", name)
		}
	}
	if _, ok := Under("shop.example", names)["shop-example_x_v1"]; !ok || len(long) != Max {
		t.Error("a short name was changed")
	}
}

// Only intents that are offered have names, and only they affect the names of others.
func TestNameOfAnIntent(t *testing.T) {
	t.Parallel()
	catalog, problems := intents.Parse([]byte(`{"service-info": {"name": "S"}, "intents": [
		{"intent_uid": "example.com:find:v1", "intent_name": "Find", "description": "d",
			"endpoint": {"url": "https://api.example.com/find", "method": "GET"}},
		{"intent_uid": "example.org:find:v1", "intent_name": "Find", "description": "d", "retire_after": "2026-01-01T00:00:00Z",
			"endpoint": {"url": "https://api.example.com/old", "method": "GET"}}]}`),
		intents.Options{Now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)})
	if catalog == nil {
		t.Fatal(problems)
	}
	for uid, want := range map[string]string{
		"example.com:find:v1": "find_v1", "example.org:find:v1": "example.org:find:v1", "example.com:other:v1": "example.com:other:v1",
	} {
		if got := Of(catalog, uid); got != want {
			t.Errorf("%s: got %s, want %s", uid, got, want)
		}
	}
}
