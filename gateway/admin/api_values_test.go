package admin_test

import (
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// An id that contains characters of a path remains one segment of the path, and one that is a relative segment is escaped.
func TestEncodedPathHasTheID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"agent-1": "/agents/agent-1/block?service=shop", "a/b c": "/agents/a%2Fb%20c/block?service=shop",
		".": "/agents/%2E/block?service=shop", "..": "/agents/%2E%2E/block?service=shop", "{id}": "/agents/%7Bid%7D/block?service=shop",
	} {
		path, query := api.Encode("/agents/{id}/block", &api.Record{Service: "shop", ID: id})
		if got := path + "?" + query.Encode(); got != want {
			t.Errorf("id %q: got %s, want %s", id, got, want)
		}
	}
}
