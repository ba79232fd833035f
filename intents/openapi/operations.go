package openapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// allMethods are those that OpenAPI describes; the first six can be called.
var allMethods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace", "query"}

const callable = 6

// A work is the state of one conversion of a document.
type work struct {
	*document
	options  Options
	selected *selection
	out      *Import
	version  string
	base     server
	uids     map[string]bool // UIDs
	secret   map[string]bool // headers of security schemes, which are not parameters
}

// An operation is one entry of paths.
type operation struct {
	key, method, path string // "GET /things/{id}"
	item, tree        map[string]any
	id                string
	tags              []string
	named             bool // it has a UID of an earlier run
}

func (w *work) run(ctx context.Context) error {
	info := object(w.root["info"])
	w.out.Title, w.out.Version = line(text(info["title"]), 150), line(text(info["version"]), 100)
	w.out.Description = trimmed(w.textAt(info["description"]), maxDescription)
	w.out.TermsURL = webAddress(text(info["termsOfService"]))
	w.version = versionOf(text(info["version"]))
	if w.note != "" {
		w.remark("", w.note)
	}
	w.servers()
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
	return nil
}

func (w *work) remark(operation, message string) {
	w.out.Notes = append(w.out.Notes, Finding{operation, message})
}

func (w *work) unmapped(operation, reason string) {
	w.out.Unmapped = append(w.out.Unmapped, Finding{operation, reason})
}

// operations returns the selected operations by path and method. Others are counted or reported.
func (w *work) operations() ([]*operation, error) {
	if w.root["paths"] == nil {
		return nil, fmt.Errorf("%w: it has no paths", ErrDocument)
	}
	paths, err := w.follow(w.root["paths"], "paths")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	var out []*operation
	count := 0
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		shown := line(path, 200)
		item, err := w.whole(paths[path], "the path")
		if err != nil {
			w.unmapped(shown, line(err.Error(), 400))
			continue
		}
		for i, method := range allMethods {
			v, there := item[method]
			if !there {
				continue
			}
			if count++; count > MaxOperations {
				return nil, fmt.Errorf("%w: it has more than %d operations", ErrDocument, MaxOperations)
			}
			op := &operation{key: strings.ToUpper(method) + " " + shown, method: strings.ToUpper(method), path: path, item: item}
			if op.tree, err = w.whole(v, "the operation"); err != nil {
				w.unmapped(op.key, line(err.Error(), 400))
				continue
			}
			if ref, ok := object(v)["$ref"].(string); ok && isShell(op.tree) {
				w.unmapped(op.key, "it refers to "+excerpt(ref)+", where no operation is described")
				continue
			}
			op.id = text(op.tree["operationId"])
			for _, tag := range list(op.tree["tags"]) {
				if s := text(tag); s != "" {
					op.tags = append(op.tags, s)
				}
			}
			_, op.named = w.options.Known[op.key]
			switch {
			case !w.selected.selects(path, op.id, op.tags):
				w.out.NotSelected++
				if uid, ok := w.options.Known[op.key]; ok {
					w.out.present[uid] = true
				}
			case i >= callable:
				w.unmapped(op.key, "the gateway does not send "+op.method)
			default:
				out = append(out, op)
			}
		}
	}
	return out, nil
}

// isShell reports whether an operation says nothing about its call.
func isShell(tree map[string]any) bool {
	for _, name := range []string{"operationId", "summary", "description", "parameters", "requestBody", "responses"} {
		if tree[name] != nil {
			return false
		}
	}
	return true
}

// name gives UIDs: first to operations that have one already, then to the others.
func (w *work) name(operations []*operation) {
	w.uids = map[string]bool{}
	for _, uid := range w.options.Known {
		w.uids[uid] = true
	}
	slices.SortStableFunc(operations, func(a, b *operation) int {
		if a.named == b.named {
			return 0
		}
		if a.named {
			return -1
		}
		return 1
	})
}

func (w *work) uid(op *operation) (intents.UID, error) {
	name := operationName(op.id, op.method, op.path)
	if before, ok := w.options.Known[op.key]; ok {
		uid, err := intents.ParseUID(before)
		dated := isYear(strings.TrimPrefix(major(uid.Version), "v")) // an earlier run made it of a date
		if err == nil && uid.Namespace == w.options.Namespace && (dated || major(uid.Version) == major(w.version)) {
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
	return intents.UID{}, fmt.Errorf("no name can be made for it: give it an operationId of its own")
}

// offer maps one operation, or reports why it cannot be mapped.
func (w *work) offer(op *operation) {
	c := &call{work: w, op: op, names: map[string]bool{}, reported: map[string]bool{}}
	uid, err := w.uid(op)
	if err == nil {
		err = c.build(uid)
	}
	if err == nil {
		err = c.settle(uid)
	}
	if err != nil {
		w.unmapped(op.key, line(err.Error(), 400))
		if before, ok := w.options.Known[op.key]; !ok || before != uid.String() {
			delete(w.uids, uid.String())
		}
		return
	}
	for _, note := range c.notes {
		w.remark(op.key, note)
	}
	if c.idempotency != "" {
		w.out.IdempotencyHeader = c.idempotency
	}
	w.out.Intents = append(w.out.Intents, Intent{
		UID: uid, Operation: op.key, Safe: op.method == "GET" || op.method == "HEAD", Tree: c.tree, below: c.below,
	})
}
