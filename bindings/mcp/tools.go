package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/intents/toolname"
)

// list responds to tools/list. See MCP 2026-07-28, server/tools, Listing Tools; server/utilities/pagination.
func (d *Door) list(r *http.Request, a *answer, _ execute.Call) {
	t := d.tools.Of(r.Context(), a.Service.Definition)
	names, tools := a.listed(t)
	from, ok := after(names, a.Params["cursor"])
	if !ok {
		a.failed(http.StatusOK, invalidParams("The cursor is not valid for this list."))
		return
	}
	to := min(from+SettingsOf(a.Service.Definition).PageSize, len(names))
	size := 200
	for _, described := range tools[from:to] {
		size += len(described) + 1
	}
	out := append(append(make([]byte, 0, size), '{'), a.complete()...)
	out = append(out, `"tools":[`...)
	for i, described := range tools[from:to] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, described...)
	}
	if out = append(out, ']'); to < len(names) {
		out = append(append(append(out, `,"nextCursor":"`...), cursorAfter(names[to-1])...), '"')
	}
	if next := successor(a.request); next != nil {
		out = append(append(append(out, `,"_meta":{"`+successorMember+`":`...), next...), '}')
	}
	if a.revision.alone {
		out = append(strconv.AppendInt(append(out, `,"ttlMs":`...), listedFor, 10), `,"cacheScope":"public"`...)
	}
	a.result(append(out, '}'))
}

// after returns the position in the list at which a cursor continues. ok is false if the cursor is invalid. A cursor contains the name of
// the last tool before it, so that it stays valid after a reload and is valid at every replica. A forged cursor is harmless, because it
// only selects a position in the same list.
func after(names []string, cursor any) (at int, ok bool) {
	if cursor == nil {
		return 0, true
	}
	text, isText := cursor.(string)
	const longest = 2 * toolname.Max
	if !isText || len(text) > longest {
		return 0, false
	}
	name, err := base64.RawURLEncoding.DecodeString(text)
	last, named := strings.CutPrefix(string(name), cursorForm)
	if err != nil || !named || last == "" {
		return 0, false
	}
	at, found := slices.BinarySearch(names, last)
	if found {
		at++
	}
	return at, true
}

// cursorForm is the prefix of each cursor, before encoding.
const cursorForm = "after:"

func cursorAfter(name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorForm + name))
}

// complete returns the member that every result has in revisions without a handshake, and "" in other revisions.
func (a *answer) complete() string {
	if a.revision.alone {
		return `"resultType":"complete",`
	}
	return ""
}
