package api

import (
	"net/url"
	"strings"
)

// JoinPath escapes segments of the path of a URL, and joins them, each after a slash.
func JoinPath(segments ...string) string {
	var out strings.Builder
	for _, s := range segments {
		out.WriteByte('/')
		out.WriteString(escape(s))
	}
	return out.String()
}

// escape escapes a segment of the path of a URL, even "." and "..", because they are valid agent ids.
func escape(segment string) string {
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}
