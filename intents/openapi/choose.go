package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/suggest"
)

// A selection decides about operations that have no decision yet.
type selection struct {
	include, exclude []*regexp.Regexp
	names            map[string]bool // the entries of include; the value is true if an entry contains neither * nor ?
	tags             map[string]bool
	fresh            string // one of curation.NewReads, NewAll and NewNone
}

const maxGlobs = 1000

func newSelection(s curation.Selection) (*selection, error) {
	if len(s.Include)+len(s.Exclude)+len(s.Tags) > maxGlobs {
		return nil, fmt.Errorf("%w: there are more than %d patterns and tags", ErrOptions, maxGlobs)
	}
	out := &selection{tags: map[string]bool{}, names: map[string]bool{}, fresh: s.New}
	for _, tag := range s.Tags {
		out.tags[tag] = true
	}
	for _, glob := range s.Include {
		out.names[glob] = !strings.ContainsAny(glob, "*?")
	}
	for _, list := range []struct {
		globs []string
		into  *[]*regexp.Regexp
	}{{s.Include, &out.include}, {s.Exclude, &out.exclude}} {
		for _, glob := range list.globs {
			pattern := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(glob))
			compiled, err := regexp.Compile(`(?s)\A` + pattern + `\z`)
			if err != nil || glob == "" {
				return nil, fmt.Errorf("%w: %.100q is not a valid pattern", ErrOptions, glob)
			}
			*list.into = append(*list.into, compiled)
		}
	}
	return out, nil
}

func matches(globs []*regexp.Regexp, op *operation) bool {
	for _, glob := range globs {
		if glob.MatchString(op.path) || glob.MatchString(op.key) || op.id != "" && glob.MatchString(op.id) {
			return true
		}
	}
	return false
}

// excludes reports whether a pattern excludes an operation, which is then never offered.
func (s *selection) excludes(op *operation) bool { return matches(s.exclude, op) }

// named reports whether the selection includes an operation by its operationId or by method and path, without a pattern.
func (s *selection) named(op *operation) bool {
	return s.names[op.key] || op.id != "" && s.names[op.id]
}

// selects reports whether the patterns and tags include an operation.
func (s *selection) selects(op *operation) bool {
	if s.excludes(op) || len(s.include) > 0 && !matches(s.include, op) {
		return false
	}
	if len(s.tags) == 0 || s.named(op) {
		return true
	}
	for _, tag := range op.tags {
		if s.tags[tag] {
			return true
		}
	}
	return false
}

// offers reports whether an operation without a decision is offered.
func (s *selection) offers(op *operation) bool {
	switch {
	case !s.selects(op):
		return false
	case s.named(op):
		return true
	case op.effect.internal != "" && len(s.include)+len(s.tags) == 0:
		return false
	case s.fresh == curation.NewAll:
		return true
	default:
		return s.fresh == curation.NewReads && op.effect.reads && !op.effect.delicate
	}
}

// name finds the curation entry of each operation. It moves operations with an entry to the front, so that other operations cannot take
// their UIDs.
func (w *work) name(operations []*operation) {
	w.uids, w.picked = map[string]bool{}, map[string]bool{}
	c := w.out.curation
	for _, o := range c.file.Operations {
		w.uids[o.UID] = true
	}
	times, byUID := map[string]int{}, map[string]string{}
	for _, op := range operations {
		times[op.id]++
	}
	for key, o := range c.file.Operations {
		byUID[o.UID] = key
	}
	for _, op := range operations {
		own := op.key
		if op.id != "" && times[op.id] == 1 && read.Line(op.id, maxKey) == op.id {
			own = op.id
		}
		was := byUID[c.last.Operations[op.key]]
		if c.last.Operations[op.key] == "" || times[was] > 0 {
			was = "" // the entry now belongs to another operation
		}
		op.entry, op.listed = own, true
		switch {
		case w.isListed(own):
		case w.isListed(op.key):
			c.file.Rename(op.key, own)
		case was != "":
			c.file.Rename(was, own)
		default:
			op.listed = false
		}
	}
	slices.SortStableFunc(operations, func(a, b *operation) int {
		switch {
		case a.listed == b.listed:
			return 0
		case a.listed:
			return -1
		default:
			return 1
		}
	})
	w.out.versions = w.version
}

const maxKey = 500 // maximum length of an operationId in the curation, in bytes

func (w *work) isListed(key string) bool {
	_, is := w.out.curation.file.Operations[key]
	return is
}

// uid returns the UID of an operation. This is the UID in the curation, unless the namespace or the major version of the document has
// changed. Otherwise, uid derives a new UID from the name of the operation.
func (w *work) uid(op *operation) (intents.UID, error) {
	name := operationName(op.id, op.method, op.path)
	if before := w.out.curation.file.Operations[op.entry].UID; before != "" {
		uid, err := intents.ParseUID(before)
		if err == nil && !w.renamed(uid) && !w.moved(uid) {
			return uid, nil
		}
		if err == nil {
			name = uid.Name
		}
	}
	candidates := []string{name, operationName("", op.method, op.path), name + "-" + short(op.key)}
	for _, candidate := range candidates {
		text := w.options.Namespace + ":" + candidate + ":" + w.version
		uid, err := intents.ParseUID(text)
		if err != nil || w.uids[text] {
			continue
		}
		w.uids[text] = true
		return uid, nil
	}
	return intents.UID{}, fmt.Errorf("no unique name can be derived for it: give it a unique operationId")
}

// renamed reports whether Options.Namespace has changed and the UID is in the previous namespace. A UID that people wrote in yet another
// namespace is kept.
func (w *work) renamed(uid intents.UID) bool {
	last := w.out.curation.last.Namespace
	return last != "" && last != w.options.Namespace && uid.Namespace == last
}

// moved reports whether the major version of the document has changed since the UID was written. An earlier change that breaks agents may
// have given the UID that version or a later one; such a UID is kept.
func (w *work) moved(uid intents.UID) bool {
	if last := w.out.curation.last.DocumentVersion; last != "" {
		increased := majorNumber(w.version) > majorNumber(last)
		return major(last) != major(w.version) && (!increased || majorNumber(uid.Version) < majorNumber(w.version))
	}
	dated := isYear(strings.TrimPrefix(major(uid.Version), "v")) // earlier releases of uimgate derived versions from dates
	return !dated && major(uid.Version) != major(w.version)
}

// decide determines whether an operation is offered. An excluded operation is never offered. For all others, Options.Pick takes precedence
// over the decisions in the curation, and these take precedence over the selection.
func (w *work) decide(op *operation, uid string) {
	state := w.out.curation.file.Operations[op.entry].Hidden
	picked := false
	for _, name := range []string{op.id, op.key, uid, w.out.curation.file.Operations[op.entry].UID} {
		if name != "" && slices.Contains(w.options.Pick, name) && !w.selected.excludes(op) {
			w.picked[name], picked = true, true
		}
	}
	switch {
	case w.options.Pick != nil:
		op.offered = picked
	case w.selected.excludes(op):
		op.offered = false
	case state == curation.Undecided:
		op.offered = w.selected.offers(op)
	case state == curation.Hidden && w.before != nil && !w.before.offers(op) && w.selected.offers(op):
		op.offered = true // only the previous selection hid the operation
	default:
		op.offered = state == curation.Offered
	}
}

// list writes the decision about an operation into the curation.
func (w *work) list(op *operation, uid string) {
	file := w.out.curation.file
	o := file.Operations[op.entry]
	o.UID = uid
	if w.options.Pick != nil || !w.selected.excludes(op) || o.Hidden == curation.Undecided {
		o.Hidden = curation.Hidden
		if op.offered {
			o.Hidden = curation.Offered
		}
	}
	if op.listed {
		file.Operations[op.entry] = o
		return
	}
	if len(file.Operations) >= curation.MaxOperations && !op.offered {
		return // an operation without an entry is hidden as well
	}
	remark := "writes"
	if op.effect.reads {
		remark = "reads"
	}
	if op.effect.internal != "" {
		remark += ", for the operator"
	}
	if op.entry != op.key {
		remark = op.key + ", " + remark
	}
	file.Add(op.entry, o, remark)
}

// unpicked returns an error that wraps ErrOptions if names in Options.Pick match no operation, or only excluded ones.
func (w *work) unpicked() error {
	var missing []string
	for _, name := range w.options.Pick {
		if !w.picked[name] && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var known []string
	for _, r := range w.out.Reviewed {
		known = append(known, r.ID, r.UID)
	}
	hint := ""
	if near := suggest.Name(missing[0], known); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%w: %d of the picked operations are excluded or not in the document, such as %s%s",
		ErrOptions, len(missing), read.Excerpt(missing[0]), hint)
}
