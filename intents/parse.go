package intents

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// MaxIntents is the maximum number of intents in one catalogue.
	MaxIntents = 100_000
	// MaxDocument is the maximum size of agents.json, in bytes.
	MaxDocument = 64 << 20
)

// Options control how a document is read.
type Options struct {
	// Strict is for the operator's own document: every deviation from the known members, types and schema keywords is an error. Without
	// Strict, which is for the documents of other services, Parse reads everything that is usable and omits unusable intents with a warning.
	// It then reports errors only if the whole document is unusable.
	Strict bool
	// Hidden returns the names of inputs that callers neither see nor set, because the gateway supplies their values. Parse omits these
	// inputs from Inputs, schemas, search and the published intent; only HiddenInput returns them. Parse calls Hidden once for each intent,
	// concurrently, and Hidden must not modify the intent. If Hidden is nil, no inputs are hidden.
	Hidden func(*Intent) []string
	// Endpoint is a URL that is published as the endpoint of every intent that has one, so that agents do not see the address of the service
	// behind the gateway. If it is empty, the endpoints are published as the operator wrote them.
	Endpoint string
	// Now is the time that decides which intents are retired: those whose retire_after has passed. If it is zero, no intent is retired.
	Now time.Time
	// Timeout returns how long a call to an intent may take, or 0 to state nothing. Parse publishes it as x-timeout, in place of the member in
	// the document. Parse calls Timeout as it calls Hidden. If Timeout is nil, the document decides.
	Timeout func(*Intent) time.Duration
}

// Parse reads agents.json. It checks every keyword of every schema and validates every default. It reads intents concurrently on all
// processors. The Catalog is nil if and only if the list contains errors; the other entries are warnings.
func Parse(data []byte, opts Options) (*Catalog, problem.List) {
	f := &reader{finding.List{Strict: opts.Strict}}
	if len(data) > MaxDocument {
		f.Problems.Errorf("too-large", "", "agents.json has %d bytes; the maximum is %d", len(data), MaxDocument)
		return nil, f.Problems
	}
	data = bytes.Clone(data) // the catalogue keeps parts of data
	all, err := members(data)
	if err != nil {
		return nil, unreadable(data, err, "")
	}
	c := &Catalog{document: data, members: all}
	tree, raw, bad := top(data, all)
	if len(bad) > 0 {
		return nil, bad
	}
	if !f.dialect(tree, c) {
		return nil, f.Problems
	}
	f.service(tree, c)
	var list problem.List
	list = append(list, f.Problems...)
	list = append(list, c.load(data, raw, opts)...)
	if list.Failed() {
		return nil, bounded(list)
	}
	list = append(list, c.arrange(opts)...)
	if list.Failed() {
		return nil, bounded(list)
	}
	return c, bounded(list)
}

// bounded shortens a list to finding.MaxProblems entries and a note. It drops warnings before errors.
func bounded(list problem.List) problem.List {
	if len(list) <= finding.MaxProblems {
		return list
	}
	more := len(list) - finding.MaxProblems
	if list.Failed() {
		slices.SortStableFunc(list, func(a, b problem.Problem) int { return rank(a) - rank(b) })
	}
	list = slices.Clip(list[:finding.MaxProblems])
	list.Warnf("more", "", "%d more problems are not listed", more)
	return list
}

func rank(p problem.Problem) int {
	if p.Level == problem.Error {
		return 0
	}
	return 1
}

// unreadable returns the problem that the document is not valid JSON, with its position. err is the error of decoding a part of the
// document. unreadable decodes the whole document again, because the resulting error has a more exact position. If no error has a position,
// the parameter at is the position of the problem.
func unreadable(data []byte, err error, at string) problem.List {
	var list problem.List
	if _, whole := strictjson.DecodeObject(data); whole != nil {
		err = whole
	}
	if located, ok := errors.AsType[*strictjson.Error](err); ok {
		list.Errorf("json", located.Pointer, "%s", located.Reason)
		return list
	}
	list.Errorf("json", at, "the document is not acceptable JSON")
	return list
}

// top decodes all members except intents. If intents is a list, raw is that member, which is not decoded; otherwise raw is nil.
func top(data []byte, all []member) (tree strictjson.Object, raw *member, bad problem.List) {
	tree = make(strictjson.Object, len(all))
	for i, m := range all {
		if _, twice := tree[m.name]; twice || raw != nil && m.name == "intents" {
			bad = unreadable(data, errShape, finding.Pointer(m.name))
			return nil, nil, bad
		}
		if m.name == "intents" && len(m.value) > 0 && m.value[0] == '[' {
			raw = &all[i]
			continue
		}
		v, err := strictjson.Decode(m.value)
		if err != nil {
			return nil, nil, unreadable(data, err, finding.Pointer(m.name))
		}
		tree[m.name] = v
	}
	return tree, raw, nil
}

// A readResult is the result of reading one intent. If the intent is unusable, the field intent is nil.
type readResult struct {
	intent *Intent
	list   problem.List
	broken bool // the text of the intent is not acceptable JSON
}

// load reads the intents into c. raw is the member intents; nil means that there is no such list.
func (c *Catalog) load(data []byte, raw *member, opts Options) (list problem.List) {
	if raw == nil {
		list.Errorf("required", "/intents", "intents is missing or not a list")
		return list
	}
	pieces, err := split(raw.value, "[")
	if err != nil {
		return unreadable(data, err, "/intents")
	}
	if len(pieces) > MaxIntents {
		list.Errorf("too-many", "/intents", "there are %d intents; the maximum is %d", len(pieces), MaxIntents)
		return list
	}
	readings := readAll(pieces, opts)
	for i, r := range readings {
		if r.broken && opts.Strict {
			return unreadable(data, errShape, "/intents/"+strconv.Itoa(i))
		}
		list = append(list, r.list...)
		if r.intent == nil {
			continue
		}
		c.spans = append(c.spans, edit{from: raw.from + pieces[i].from, to: raw.from + pieces[i].to, with: r.intent.raw})
		c.intents = append(c.intents, r.intent)
	}
	return list
}

// readAll reads the pieces on all processors, in chunks that keep the order.
func readAll(pieces []member, opts Options) []readResult {
	readings := make([]readResult, len(pieces))
	workers := min(runtime.GOMAXPROCS(0), len(pieces))
	const chunk = 64
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for from := range next {
				for i := from; i < min(from+chunk, len(pieces)); i++ {
					readings[i] = read(i, pieces[i].value, opts)
				}
			}
		})
	}
	for from := 0; from < len(pieces); from += chunk {
		next <- from
	}
	close(next)
	wg.Wait()
	return readings
}

func read(n int, piece []byte, opts Options) readResult {
	at := "/intents/" + strconv.Itoa(n)
	b := &builder{reader: reader{finding.List{Strict: opts.Strict}}, now: opts.Now}
	v, err := strictjson.Decode(piece)
	if err != nil {
		reason := "not acceptable JSON"
		if located, ok := errors.AsType[*strictjson.Error](err); ok {
			reason = located.Reason
			at += located.Pointer
		}
		b.Hard("json", at, "%s", reason)
		return readResult{list: named(b, fmt.Sprintf("intent %d", n)), broken: true}
	}
	m, ok := strictjson.AsObject(v)
	if !ok {
		b.Hard("wrong-type", at, "an intent must be an object, not %s", finding.Article(strictjson.Kind(v)))
		return readResult{list: named(b, fmt.Sprintf("intent %d", n))}
	}
	intent := b.intent(at, m, piece)
	if opts.Endpoint != "" && intent.Endpoint != nil {
		intent.publishAt(opts.Endpoint)
	}
	if opts.Hidden != nil {
		intent.hide(opts.Hidden(intent))
	}
	if opts.Timeout != nil {
		intent.state(opts.Timeout(intent))
	}
	intent.place, intent.words = n, weigh(intent)
	name := intent.UID.String()
	if name == "" {
		name = strconv.Itoa(n)
	}
	list := named(b, "intent "+name)
	if b.Unusable {
		return readResult{list: list}
	}
	return readResult{intent: intent, list: list}
}

// named adds the name of an intent to the beginning of each of its findings, and returns the findings.
func named(b *builder, name string) problem.List {
	for i := range b.Problems {
		b.Problems[i].Message = name + ": " + b.Problems[i].Message
	}
	return b.Problems
}

// arrange builds the maps and the search index, and returns problems that involve several intents. It removes intents whose UID occurs
// earlier in the document.
func (c *Catalog) arrange(opts Options) problem.List {
	f := &reader{finding.List{Strict: opts.Strict}}
	c.byUID = make(map[UID]*Intent, len(c.intents))
	c.versions = map[family][]UID{}
	c.byTitle = map[string][]*Intent{}
	spaces := map[string]bool{}
	kept := c.intents[:0]
	for _, i := range c.intents {
		if _, twice := c.byUID[i.UID]; twice {
			f.Soft("duplicate", "/intents/"+strconv.Itoa(i.place)+"/intent_uid", "the intent %s occurs twice", i.UID)
			continue
		}
		c.byUID[i.UID] = i
		c.versions[i.UID.family()] = append(c.versions[i.UID.family()], i.UID)
		c.byTitle[i.Name] = append(c.byTitle[i.Name], i)
		if !spaces[i.UID.Namespace] {
			spaces[i.UID.Namespace] = true
			c.namespaces = append(c.namespaces, i.UID.Namespace)
		}
		kept = append(kept, i)
	}
	c.intents = kept
	for _, versions := range c.versions {
		slices.SortFunc(versions, UID.Compare)
	}
	for _, i := range c.intents {
		if i.ReplacedBy != (UID{}) && i.ReplacedBy.Namespace == i.UID.Namespace && c.byUID[i.ReplacedBy] == nil {
			f.Advise("replaced-by", "/intents/"+strconv.Itoa(i.place)+"/replaced_by", "intent %s: replaced_by names %s, which is not in this file",
				i.UID, i.ReplacedBy)
		}
	}
	c.index = newIndex(c.intents, c.Service.Name)
	return f.Problems
}
