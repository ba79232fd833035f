package read

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
)

// files holds the files to which a document refers. A file is read when the first reference to it is followed.
type files struct {
	fsys  fs.FS
	entry string // the path of the document itself
	left  *budget
	read  map[string]*file
}

// A file is the tree of a file, or the reason why the file was not read.
type file struct {
	tree   map[string]any
	reason string
}

// tree returns the content of a file. name is the part of the reference ref before #. The error is an *OutsideError.
func (f *files) tree(name, ref string) (any, error) {
	u, err := url.Parse(name)
	var reason string
	switch {
	case err != nil || u.RawQuery != "" || u.ForceQuery:
		reason = "references of this form cannot be followed"
	case u.Scheme != "" || u.Host != "" || u.User != nil:
		reason = "other addresses are never fetched"
	case f == nil:
		reason = "other files cannot be read here: put everything into one document, or use a document that is a file beside the others"
	default:
		have := f.read[u.Path]
		if have == nil {
			have = &file{}
			have.tree, have.reason = f.load(u.Path)
			f.read[u.Path] = have
		}
		if have.reason == "" {
			return have.tree, nil
		}
		reason = have.reason
	}
	return nil, &OutsideError{ref, reason}
}

// load reads one file. If it does not read the file, it returns the reason.
func (f *files) load(name string) (tree map[string]any, reason string) {
	switch hidden := slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return strings.HasPrefix(s, ".") }); {
	case name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/"):
		return nil, "it is outside the directory that files are read from"
	case hidden:
		return nil, "hidden files are not read"
	case !readable(name) || !fs.ValidPath(name):
		return nil, "only files whose names end in .yaml, .yml or .json are read"
	case len(f.read) >= MaxFiles:
		return nil, fmt.Sprintf("the document refers to more than %d files", MaxFiles)
	}
	data, err := f.bytes(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the file does not exist"
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	if err == nil {
		tree, err = decode(data, f.left)
	}
	if err != nil {
		return nil, Line(err.Error(), 200)
	}
	f.anchorFile(tree, name)
	return tree, ""
}

func (f *files) bytes(name string) ([]byte, error) {
	info, err := fs.Stat(f.fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if info.Size() > int64(f.left.bytes) {
		return nil, fmt.Errorf("it has %d bytes; all files together may have at most %d", info.Size(), MaxDocument)
	}
	in, err := f.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(in, int64(f.left.bytes)+1))
}

// readable reports whether a file with this name may contain a part of a document.
func readable(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name)))
}

// anchorFile does the same as anchor for a whole file, in which the names at the top level may be keywords or the names of schemas.
func (f *files) anchorFile(tree map[string]any, from string) {
	for name, sub := range tree {
		if ref, ok := sub.(string); ok && name == "$ref" {
			tree[name] = f.resolve(ref, from)
			continue
		}
		f.anchor(sub, from, slices.Contains(memberKeywords, name))
	}
}

// anchor makes the references in v relative to the root of fsys, so that they do not depend on where a part of the file is used. It skips
// values that are data. members means that the author has chosen the names in v; they are then not keywords.
func (f *files) anchor(v any, from string, members bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			f.anchor(item, from, false)
		}
	case map[string]any:
		for name, sub := range v {
			ref, isText := sub.(string)
			switch {
			case isText && name == "$ref":
				v[name] = f.resolve(ref, from)
			case !members && slices.Contains(dataKeywords, name):
			case !members && name == "mapping":
				f.anchorMapping(Object(sub), from)
			default:
				f.anchor(sub, from, !members && slices.Contains(memberKeywords, name))
			}
		}
	}
}

var (
	// dataKeywords are the keywords whose values are data of the service. Inside them, $ref is an ordinary name.
	dataKeywords = []string{"default", "enum", "const", "example", "examples"}
	// memberKeywords are the keywords whose values are objects with names that the author has chosen.
	memberKeywords = []string{
		"properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "schemas", "parameters", "responses", "headers",
		"requestBodies", "securitySchemes", "securityDefinitions", "pathItems", "paths", "content", "encoding",
	}
)

// anchorMapping does the same as anchor for the mapping of a discriminator, whose values are references or names of schemas.
func (f *files) anchorMapping(mapping map[string]any, from string) {
	for value, target := range mapping {
		if ref := Text(target); strings.Contains(ref, "#") || readable(ref) {
			mapping[value] = f.resolve(ref, from)
		}
	}
}

// resolve makes a reference in the file from relative to the root of fsys (RFC 3986 5.2). It returns a reference with a host, a scheme or a
// query unchanged.
func (f *files) resolve(ref, from string) string {
	name, fragment, hasFragment := strings.Cut(ref, "#")
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery {
		return ref // Lookup reports the error
	}
	target := from
	switch {
	case strings.HasPrefix(u.Path, "/"):
		target = u.Path
	case name != "":
		target = path.Join(path.Dir(from), u.Path)
	}
	if target == f.entry {
		return "#" + fragment
	}
	if name = (&url.URL{Path: target}).String(); hasFragment {
		name += "#" + fragment
	}
	return name
}
