package api

import (
	"net/url"
	"strings"
)

// JoinPath escapes segments of the path of a URL, and joins them, each after a slash. It also escapes the segments "." and "..", because
// they are valid agent ids.
func JoinPath(segments ...string) string {
	var out strings.Builder
	for _, s := range segments {
		out.WriteByte('/')
		if s == "." || s == ".." {
			out.WriteString(strings.ReplaceAll(s, ".", "%2E"))
			continue
		}
		out.WriteString(url.PathEscape(s))
	}
	return out.String()
}
