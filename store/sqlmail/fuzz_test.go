package sqlmail_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
)

// searches are texts of agents, and the words that are searched for.
var searches = [][2]string{
	{"translate text", "text"},
	{"100% sure", "0%"},
	{"100 sure", "0%"},
	{"a_b", "a_b"},
	{"axb", "a_b"},
	{`back\slash`, `k\s`},
	{`back\`, `\`},
	{"backslash", `k\s`},
	{"it's", "'"},
	{`say "hi"`, `"hi"`},
	{"a AND b OR NOT c NEAR(d, 1)", "and"},
	{"col:tag^2 *", "*"},
	{"-- ; DROP TABLE relay_agents", "; drop"},
	{"null\x00byte", "l\x00b"},
	{"null", "\x00"},
	{"\xff\xfe", "\xff"},
	{"ÄRGER", "ärger"},
	{"İSTANBUL ẞ", "i̇st"},
	{"😀 smile", "😀"},
	{"$1 ?1 :name @x", "?1"},
	{"%_%", "%_%"},
	{"", ""},
	{"text", ""},
}

// foundBy reports whether an agent with this text is found by a word in all its texts, and by a word in its name.
func (r *relay) foundBy(text, word string) (inWords, inName bool) {
	r.Helper()
	_, err := r.Update(r.Context(), alice, mail.Profile{Name: &text, Words: &text, Capabilities: []byte("[]"), Tags: []string{text}})
	r.must(err)
	find := func(q mail.Search) bool {
		q.Limit = 2
		list, more, err := r.Discover(r.Context(), q)
		if err != nil || more || len(list) > 1 {
			r.Fatalf("%q in %q: %d, %t, %v", word, text, len(list), more, err)
		}
		return len(list) == 1
	}
	if find(mail.Search{Tags: []string{word}}) != (text == word) {
		r.Errorf("the tag %q is found as %q", text, word)
	}
	if find(mail.Search{Prefixes: []string{word}}) != strings.HasPrefix(text, word) {
		r.Errorf("the tag %q is found by the prefix %q", text, word)
	}
	return find(mail.Search{Words: []string{word, word}}), find(mail.Search{Name: word})
}

func (r *relay) searchable() {
	r.Helper()
	r.public(alice, "", "")
}

func (r *relay) searched(text, word string) {
	r.Helper()
	want := strings.Contains(sqlmail.Fold(text), sqlmail.Fold(word))
	if inWords, inName := r.foundBy(text, word); inWords != want || inName != want {
		r.Errorf("%q in %q: %t, and as a name %t; want %t", word, text, inWords, inName, want)
	}
}

func TestSearchIsLiteral(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){"": func(r *relay) {
		r.searchable()
		for _, s := range searches {
			r.searched(s[0], s[1])
		}
	}})
}

// A search finds an agent exactly if the text contains the word, and no search fails.
func FuzzSearch(f *testing.F) {
	for _, s := range searches {
		f.Add(s[0], s[1])
	}
	place := engines["sqlite"](f)
	f.Fuzz(func(t *testing.T, text, word string) {
		if len(text) > 10_000 || len(word) > 2000 {
			t.Skip("longer than agents can use")
		}
		r := newRelay(t, place)
		r.searchable()
		r.searched(text, word)
	})
}

// Clients send the positions in lists. A query must not fail at any position, and returns the messages after it in order.
func FuzzPlaces(f *testing.F) {
	f.Add("msg_000000000002", "t", "msg_000000000001")
	f.Add("\x00", "\xff", "' OR 1=1")
	place := engines["sqlite"](f)
	f.Fuzz(func(t *testing.T, id, thread, reply string) {
		r := newRelay(t, place)
		m := r.message(alice, bob)
		m.ID, m.ThreadID, m.InReplyTo = "m"+r.Now().String(), thread, reply
		taken := r.send(m)
		q := mail.Query{
			Recipient: bob, Status: mail.Sent, ThreadID: thread, InReplyTo: reply, Limit: 100,
			After: &mail.Place{CreatedAt: taken.CreatedAt.Add(-1), ID: id},
		}
		list, _, err := r.Messages(r.Context(), q)
		r.must(err)
		if !slices.Equal(ids(list), []string{taken.ID}) || list[0].ThreadID != thread || list[0].InReplyTo != reply {
			t.Errorf("%+v; want %+v", list, taken)
		}
		_, _, err = r.Thread(r.Context(), thread, bob, q.After, 10)
		r.must(err)
		_, _, err = r.List(r.Context(), &bob, q.After, 10)
		r.must(err)
		if _, err := r.Message(r.Context(), id); err != nil {
			r.want(err, mail.ErrNotFound)
		}
		r.must(r.Delivered(r.Context(), bob, []string{id, taken.ID}))
		r.same(r.waiting(bob), nil)
	})
}
