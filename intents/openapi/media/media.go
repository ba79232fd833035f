// Package media interprets the media types in an OpenAPI document, for bodies and responses that are not JSON: files, text, and multipart
// forms. Schemas are trees in the form that package openapi writes for parameters.
package media

import (
	"encoding/json"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
)

// The content types that an endpoint's body may have.
const (
	JSON      = "application/json"
	Form      = "application/x-www-form-urlencoded"
	Multipart = "multipart/form-data"
	Bytes     = "application/octet-stream" // one value is the whole body
)

const (
	// MaxFile is the maxLength of a file in a call, in characters of base64, if the document does not set one. It leaves space for other
	// parameters within the default of server.max_body.
	MaxFile  = 1_000_000
	maxTypes = 20 // media types of one response
)

// IsBytes reports whether a schema describes bytes: it has the format binary or, since OpenAPI 3.1, a contentMediaType other than text
// and no contentEncoding. With a contentEncoding, the service would expect encoded text. old means that the document is older than
// OpenAPI 3.1.
func IsBytes(schema map[string]any, old bool) bool {
	inner := withoutNull(schema)
	if t := inner["type"]; t != nil && t != "string" && !slices.Contains(list(t), any("string")) {
		return false
	}
	if inner["format"] == "binary" {
		return true
	}
	kind, known := inner["contentMediaType"].(string)
	return !old && known && inner["contentEncoding"] == nil && !isText(Type(kind))
}

// IsPart reports whether the schema of a part of a form describes bytes. It is like IsBytes, but since OpenAPI 3.1, a part without schema
// keywords is also a file.
func IsPart(schema map[string]any, old bool) bool {
	if IsBytes(schema, old) {
		return true
	}
	for name := range schema {
		if name != "description" && name != "deprecated" {
			return false
		}
	}
	return !old
}

// Part returns the schema of a parameter that is sent as a part of a form, or as the whole body. declared is the media type that the
// document declares outside the schema, or several separated by commas; it may be empty.
func Part(schema map[string]any, declared string, old bool) map[string]any {
	if items, ok := schema["items"].(map[string]any); ok && !IsPart(schema, old) {
		out := maps.Clone(schema)
		out["items"] = Part(items, declared, old)
		return out
	}
	if IsPart(schema, old) {
		return file(schema, declared)
	}
	if schema["contentEncoding"] == "base64" { // the service expects base64; in an intent, the gateway would decode the value
		schema = maps.Clone(schema)
		delete(schema, "contentEncoding")
		schema["format"] = "byte"
	}
	own, _ := schema["contentMediaType"].(string)
	if declared = types(declared); declared == "" {
		declared = types(own)
	}
	kind := Type(declared)
	if own == "" && (kind == "" || kind == "text/plain" || kind == JSON && schema["type"] == "object") {
		return schema
	}
	out := maps.Clone(schema)
	if out["contentMediaType"] = declared; declared == "" {
		delete(out, "contentMediaType")
	}
	return out
}

// types returns the valid media types of a comma-separated list, again separated by commas.
func types(declared string) string {
	var out []string
	for one := range strings.SplitSeq(declared, ",") {
		if Type(one) != "" {
			out = append(out, strings.TrimSpace(one))
		}
	}
	return strings.Join(out, ", ")
}

// file returns the schema of a file in a call, which is encoded as base64.
func file(schema map[string]any, declared string) map[string]any {
	inner := withoutNull(schema)
	out := map[string]any{"type": "string", "contentEncoding": "base64", "maxLength": json.Number(strconv.Itoa(MaxFile))}
	if own, ok := inner["contentMediaType"].(string); types(declared) == "" && ok {
		declared = own
	}
	declared = types(declared)
	if Type(declared) != "" && Type(declared) != Bytes {
		out["contentMediaType"] = declared
	}
	if n, ok := inner["maxLength"].(json.Number); ok { // in bytes
		if most, err := n.Int64(); err == nil && most > 0 && most < 1<<30 {
			out["maxLength"] = json.Number(strconv.FormatInt((most+2)/3*4, 10))
		}
	}
	words := "A file, as base64 (RFC 4648, with padding), or as data:TYPE;name=FILE;base64,… to keep its name."
	if d, ok := inner["description"].(string); ok && d != "" {
		words = d + "\n\n" + words
	}
	out["description"] = words
	if schema["deprecated"] == true {
		out["deprecated"] = true
	}
	return out
}

// withoutNull returns the alternative that is not null if a schema is an anyOf of a schema and null, and otherwise the schema itself.
func withoutNull(schema map[string]any) map[string]any {
	all := list(schema["anyOf"])
	if len(all) != 2 {
		return schema
	}
	for i, v := range all {
		if m, ok := v.(map[string]any); ok && m["type"] == "null" {
			inner, _ := all[1-i].(map[string]any)
			return inner
		}
	}
	return schema
}

// Body determines how a body that is one file or text is sent. names are the media types of the body in the document. declared is the media
// type to send, or several separated by commas, or empty if the body may have any media type. text is true if the body is text; its schema
// must then be that of a string. ok is false if the gateway cannot send the body.
func Body(names []string, schema map[string]any, old bool) (declared string, text, ok bool) {
	var files, texts []string
	for _, name := range names {
		switch kind := Type(name); {
		case kind == "":
		case kind == "text/plain" || kind == "text/csv" || kind == "text/markdown":
			texts = append(texts, name)
		case kind == Bytes || kind == "*/*" || isFile(kind):
			files = append(files, kind)
		}
	}
	isString := len(schema) == 0 || schema["type"] == "string"
	switch {
	case len(files) > 0 && (isString || IsBytes(schema, old)):
		if slices.Contains(files, Bytes) || slices.Contains(files, "*/*") {
			return "", false, true
		}
		return strings.Join(files, ", "), false, true
	case len(texts) > 0 && isString && !IsBytes(schema, old):
		return texts[0], true, true
	case len(texts) > 0 && IsBytes(schema, old):
		return texts[0], false, true
	default:
		return "", false, false
	}
}

// Accept returns the media types of a response that the gateway can pass on as content, without duplicates and at most 20. It omits HTML
// pages, event streams and multipart. text is true if all returned types are passed on as text, and none is true if no returned type is.
func Accept(names []string) (accept []string, text, none bool) {
	text, none = true, true
	for _, name := range names {
		kind := Type(name)
		switch {
		case kind == "" || len(accept) == maxTypes || slices.Contains(accept, kind):
			continue
		case kind == "text/html" || kind == "application/xhtml+xml" || kind == "text/event-stream" || strings.HasPrefix(kind, "multipart/"):
			continue
		}
		accept = append(accept, kind)
		text, none = text && isText(kind), none && !isText(kind)
	}
	return accept, text, none
}

// Type returns the first media type of a comma-separated list, or a range such as image/*, in lower case and without parameters. It
// returns "" if that is not a media type.
func Type(name string) string {
	kind, _, err := mime.ParseMediaType(strings.TrimSpace(strings.Split(name, ",")[0]))
	if err != nil || !form().MatchString(kind) {
		return ""
	}
	return kind
}

// form matches media types (RFC 6838 section 4.2) and ranges.
var form = regex.Lazy(`^(\*/\*|[a-z0-9!#$&^_.+-]{1,100}/(\*|[a-z0-9!#$&^_.+-]{1,100}))$`)

func isFile(kind string) bool {
	switch kind {
	case "application/pdf", "application/zip", "application/gzip", "application/x-tar":
		return true
	default:
		return strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
	}
}

// isText reports whether content of this type is passed on as text.
func isText(kind string) bool {
	switch kind {
	case "application/xml", "application/x-ndjson", "application/yaml", "application/x-yaml", "application/sql", "application/graphql",
		JSON:
		return true
	default:
		return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json")
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
