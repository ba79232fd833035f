package sqlmail_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"order of results":                  discovered,
		"tags of public agents are counted": tagsCounted,
	})
}

func (r *relay) public(k mail.Key, name, words string, tags ...string) {
	r.Helper()
	r.agent(k)
	_, err := r.Update(r.Context(), k, mail.Profile{
		Name: &name, Visibility: new(mail.Public), Capabilities: []byte(`[{"name":"c"}]`), Tags: tags, Words: &words,
	})
	r.must(err)
}

func (r *relay) found(q mail.Search) (got []int) {
	r.Helper()
	if q.Limit == 0 {
		q.Limit = 2
	}
	for {
		list, more, err := r.Discover(r.Context(), q)
		r.must(err)
		for _, a := range list {
			got = append(got, int(a.Key[0]))
		}
		if !more {
			return got
		}
		last := list[len(list)-1]
		q.After = &mail.AgentPlace{ActiveAt: last.LastActiveAt, Key: last.Key}
	}
}

func discovered(r *relay) {
	r.public(key(1), "Translator of ÄRGER", "Translator of ÄRGER translate 100% a_b", "text:translate", "text:x", "free")
	r.age(time.Hour)
	r.public(key(2), "Painter", `Painter paint it back\slash 100 axb`, "image:paint", "free")
	r.age(time.Hour)
	r.public(key(3), "", "translate paint", "text:translate", "image:paint")
	r.public(key(4), "Suspended", "translate", "free")
	r.must(r.Suspend(r.Context(), key(4), true))
	r.public(key(5), "Private", "translate", "free")
	_, err := r.Update(r.Context(), key(5), mail.Profile{Visibility: new(mail.Private)})
	r.must(err)
	r.agent(key(6))
	for name, c := range map[string]struct {
		q    mail.Search
		want []int
	}{
		"all":                     {mail.Search{}, []int{3, 2, 1}},
		"a tag":                   {mail.Search{Tags: []string{"free"}}, []int{2, 1}},
		"two tags":                {mail.Search{Tags: []string{"free", "text:translate"}}, []int{1}},
		"no such tag":             {mail.Search{Tags: []string{"free", "Free"}}, nil},
		"a prefix":                {mail.Search{Prefixes: []string{"text:"}}, []int{3, 1}},
		"two prefixes":            {mail.Search{Prefixes: []string{"text:", "im"}}, []int{3}},
		"no such prefix":          {mail.Search{Prefixes: []string{"text:y"}}, nil},
		"a prefix without end":    {mail.Search{Prefixes: []string{"\xff\xff"}}, nil},
		"a word":                  {mail.Search{Words: []string{"TRANSL"}}, []int{3, 1}},
		"two words":               {mail.Search{Words: []string{"paint", "it"}}, []int{2}},
		"a name":                  {mail.Search{Name: "ärger"}, []int{1}},
		"a name in its middle":    {mail.Search{Name: "AINT"}, []int{2}},
		"percent":                 {mail.Search{Words: []string{"100%"}}, []int{1}},
		"underline":               {mail.Search{Words: []string{"a_b"}}, []int{1}},
		"backslash":               {mail.Search{Words: []string{`k\s`}}, []int{2}},
		"active since":            {mail.Search{ActiveSince: r.Now().Add(-90 * time.Minute)}, []int{3, 2}},
		"a word that is too long": {mail.Search{Words: []string{string(make([]byte, 100_000))}}, nil},
		"all filters": {
			mail.Search{Tags: []string{"free"}, Prefixes: []string{"text"}, Words: []string{"of"}, Name: "t", ActiveSince: r.Now().Add(-3 * time.Hour)},
			[]int{1},
		},
	} {
		for _, limit := range []int{1, 2, 10} {
			c.q.Limit = limit
			if got := r.found(c.q); !slices.Equal(got, c.want) {
				r.Errorf("%s, by %d: %v; want %v", name, limit, got, c.want)
			}
		}
	}
}

func tagsCounted(r *relay) {
	r.public(key(1), "", "", "b", "a", "c")
	r.public(key(2), "", "", "b", "d")
	r.public(key(3), "", "", "c", "b")
	tags := func() (all []mail.TagCount) {
		var after *mail.TagCount
		for {
			list, more, err := r.Tags(r.Context(), after, 1)
			r.must(err)
			all = append(all, list...)
			if !more {
				return all
			}
			after = &list[len(list)-1]
		}
	}
	for _, step := range []struct {
		do   func() error
		want []mail.TagCount
	}{
		{func() error { return nil }, []mail.TagCount{{Tag: "b", Count: 3}, {Tag: "c", Count: 2}, {Tag: "a", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error {
			_, err := r.Update(r.Context(), key(1), mail.Profile{Capabilities: []byte("[]"), Tags: []string{"d", "a"}})
			return err
		}, []mail.TagCount{{Tag: "b", Count: 2}, {Tag: "d", Count: 2}, {Tag: "a", Count: 1}, {Tag: "c", Count: 1}}},
		{func() error { return r.Suspend(r.Context(), key(2), true) }, []mail.TagCount{{Tag: "a", Count: 1}, {Tag: "b", Count: 1}, {Tag: "c", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error { return r.Suspend(r.Context(), key(2), true) }, []mail.TagCount{{Tag: "a", Count: 1}, {Tag: "b", Count: 1}, {Tag: "c", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error {
			_, err := r.Update(r.Context(), key(3), mail.Profile{Visibility: new(mail.Private)})
			return err
		}, []mail.TagCount{{Tag: "a", Count: 1}, {Tag: "d", Count: 1}}},
		{func() error { return r.Suspend(r.Context(), key(2), false) }, []mail.TagCount{{Tag: "d", Count: 2}, {Tag: "a", Count: 1}, {Tag: "b", Count: 1}}},
		{func() error { _, err := r.Delete(r.Context(), key(1)); return err }, []mail.TagCount{{Tag: "b", Count: 1}, {Tag: "d", Count: 1}}},
	} {
		r.must(step.do())
		if d := cmp.Diff(step.want, tags()); d != "" {
			r.Fatalf("differs (-want +got):\n%s", d)
		}
	}
}
