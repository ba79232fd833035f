package openapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// callable is the number of methods, at the start of read.Methods, that the gateway can send.
const callable = 6

// A work is the state of one conversion of a document.
type work struct {
	*read.Document
	options  Options
	selected *selection
	before   *selection      // the selection of the previous run, or nil
	picked   map[string]bool // the names in Options.Pick that were found
	out      *Import
	version  string
	upstream string // the URL of the service that the options or the curation name; may be empty
	base     server
	uids     map[string]bool // the UIDs in use
	secret   map[string]bool // headers of security schemes, which are not parameters
}

// An operation is one entry of paths.
type operation struct {
	key, method, path string // "GET /things/{id}"
	item, tree        map[string]any
	id                string
	tags              []string
	effect            effect
	entry             string // key of the operation in the curation
	listed            bool   // the curation has an entry for the operation
	offered           bool
}

func (w *work) run(ctx context.Context) error {
	info := read.Object(w.Root["info"])
	w.out.Title, w.out.Version = read.Line(read.Text(info["title"]), 150), read.Line(read.Text(info["version"]), 100)
	w.out.Description = trimmed(w.TextAt(info["description"]), maxDescription)
	w.out.TermsURL = webAddress(read.Text(info["termsOfService"]))
	w.version = versionOf(read.Text(info["version"]))
	if w.Note != "" {
		w.remark("", w.Note)
	}
	if err := w.servers(); err != nil {
		return err
	}
	w.credentials()
	operations, err := w.operations()
	if err != nil {
		return err
	}
	w.name(operations)
	for _, op := range operations {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading the OpenAPI document: %w", err)
		}
		w.offer(op)
	}
	w.givens()
	w.refusals()
	return w.unpicked()
}

func (w *work) remark(operation, message string) {
	w.out.Notes = append(w.out.Notes, Finding{operation, message})
}

func (w *work) unmapped(operation, reason string) {
	w.out.Unmapped = append(w.out.Unmapped, Finding{operation, reason})
}

// operations returns the operations that the gateway can send, in the order of paths and methods, and reports the others. The error wraps
// read.ErrDocument.
func (w *work) operations() ([]*operation, error) {
	if w.Root["paths"] == nil {
		return nil, fmt.Errorf("%w: it has no paths", read.ErrDocument)
	}
	paths, err := w.Follow(w.Root["paths"], "paths")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", read.ErrDocument, err)
	}
	var out []*operation
	count := 0
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		shown := read.Line(path, 200)
		item, err := w.Whole(paths[path], "the path")
		if err != nil {
			w.unmapped(shown, read.Line(err.Error(), 400))
			continue
		}
		for i, method := range read.Methods {
			v, there := item[method]
			if !there {
				continue
			}
			if count++; count > MaxOperations {
				return nil, fmt.Errorf("%w: it has more than %d operations", read.ErrDocument, MaxOperations)
			}
			op := &operation{key: strings.ToUpper(method) + " " + shown, method: strings.ToUpper(method), path: path, item: item}
			if op.tree, err = w.Whole(v, "the operation"); err != nil {
				w.unmapped(op.key, read.Line(err.Error(), 400))
				continue
			}
			if ref, ok := read.Object(v)["$ref"].(string); ok && isShell(op.tree) {
				w.unmapped(op.key, "it refers to "+read.Excerpt(ref)+", where no operation is described")
				continue
			}
			op.id = read.Text(op.tree["operationId"])
			for _, tag := range read.List(op.tree["tags"]) {
				if s := read.Text(tag); s != "" {
					op.tags = append(op.tags, s)
				}
			}
			op.effect = w.effectOf(op)
			if i >= callable {
				if w.selected.selects(op) {
					w.unmapped(op.key, "the gateway does not send "+op.method)
				}
				continue
			}
			out = append(out, op)
		}
	}
	return out, nil
}

// isShell reports whether an operation has no member that describes its call.
func isShell(tree map[string]any) bool {
	for _, name := range []string{"operationId", "summary", "description", "parameters", "requestBody", "responses"} {
		if tree[name] != nil {
			return false
		}
	}
	return true
}

// offer converts one operation to an intent, or reports why it cannot be converted. It also converts hidden operations, because people
// choose among them.
func (w *work) offer(op *operation) {
	decided := w.out.curation.file.Operations[op.entry]
	c := &call{work: w, op: op, names: map[string]bool{}, reported: map[string]bool{}, decided: decided}
	uid, err := w.uid(op)
	if err == nil {
		err = c.build(uid)
	}
	if err == nil {
		err = c.settle(uid)
	}
	w.decide(op, uid.String())
	review := ReviewItem{Operation: op.key, ID: read.Line(op.id, 200), Reads: op.effect.reads, Findings: c.notes}
	if !decided.Price.IsZero() {
		review.Price = decided.Price.String()
	}
	if err != nil {
		reason := read.Line(err.Error(), 400)
		review.Findings = []string{reason}
		w.out.Reviewed = append(w.out.Reviewed, review)
		if op.offered || !op.listed && w.selected.selects(op) && w.options.Pick == nil {
			w.unmapped(op.key, reason)
		}
		if !op.listed {
			delete(w.uids, uid.String())
		}
		return
	}
	review.UID, review.Offered = uid.String(), op.offered
	if op.effect.internal != "" && !op.offered {
		review.Findings = append([]string{"for the operator: " + op.effect.internal}, review.Findings...)
	}
	w.out.Reviewed = append(w.out.Reviewed, review)
	w.list(op, uid.String())
	if !op.offered {
		w.out.Hidden++
		w.out.hidden[uid.String()] = true
		return
	}
	for _, note := range c.notes {
		w.remark(op.key, note)
	}
	if c.idempotency != "" {
		w.out.IdempotencyHeader = c.idempotency
	}
	w.out.Intents = append(w.out.Intents, Intent{
		UID: uid, Operation: op.key, Safe: op.effect.reads, Tree: c.tree, own: c.own, headers: c.headers,
		refusal: c.refusalInExamples(),
	})
}
