package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
)

// All pages of a list together have a bound, whatever the size of each.
func TestAListOfToolsIsBounded(t *testing.T) {
	t.Parallel()
	var pages atomic.Int64
	schema := strings.Repeat("x", 900<<10)
	s := httptest.NewServer(rpc(func(w http.ResponseWriter, id string) {
		n := pages.Add(1)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"nextCursor":"%d","tools":[{"name":"t%d","inputSchema":{"title":"%s"}}]}}`, id, n, n, schema)
	}))
	t.Cleanup(s.Close)
	u, _ := openTools(t, settings(t, s.URL), false)
	if _, err := u.Tools(t.Context()); !errors.Is(err, mcp.ErrTools) || pages.Load() > 20 {
		t.Errorf("got %v after %d pages", err, pages.Load())
	}
}

// Reports contain the names of arguments only if these can be read.
func TestMisfitsOfTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ required, want string }{
		"a name":      {"colour", "the tool try requires colour, which the intent does not have"},
		"a long name": {strings.Repeat("x", 1000), "the tool try requires another argument, which the intent does not have"},
		"a control":   {"a\nb", "the tool try requires another argument, which the intent does not have"},
		"nothing":     {"q", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			required, _ := json.Marshal(c.required)
			s := httptest.NewServer(rpc(func(w http.ResponseWriter, id string) {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"tools":[{"name":"try","inputSchema":{"required":[`+string(required)+`]}}]}}`)
			}))
			t.Cleanup(s.Close)
			u, _ := openTools(t, settings(t, s.URL), false)
			u.CheckTools(t.Context())
			if r, ok := u.ToolsReport(); !ok || r.Unread != "" || r.Misfits["shop.example:try:v1"] != c.want {
				t.Errorf("got %+v", r)
			}
		})
	}
}
