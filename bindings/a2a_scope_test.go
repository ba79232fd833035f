package bindings_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestTasksOutsideScope checks that a PAT reads only the tasks of intents in its scope, even if the agent called other intents with
// another PAT.
func TestTasksOutsideScope(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "")
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"order": "secret of `+r.URL.Path+`"}`)
	}
	whole := g.Agreed("agent-1")
	narrow := g.Narrowed(whole, gatetest.Searching)
	ordered := rpc(g, whole.Token, a2aMessage("SendMessage", "m1", gatetest.Ordering, `{"product":"lamp"}`)).Result.Task.ID
	searched := rpc(g, whole.Token, a2aMessage("SendMessage", "m2", gatetest.Searching, `{"query":"lamp"}`)).Result.Task.ID
	if ordered == "" || searched == "" {
		t.Fatalf("%q, %q: no tasks", ordered, searched)
	}
	ask := func(token, method, params string) string {
		return string(g.Send(post(g, t.Context(), token, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)).Body)
	}
	for _, method := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
		if got := ask(narrow.Token, method, `{"id":"`+ordered+`"}`); !strings.Contains(got, "TASK_NOT_FOUND") {
			t.Errorf("%s: %s, want a text that contains %q", method, got, "TASK_NOT_FOUND")
		}
	}
	goesOn := `{"message":{"messageId":"m3","role":"ROLE_USER","taskId":"` + ordered + `","parts":[{"text":"and?"}]}}`
	if got := ask(narrow.Token, "SendMessage", goesOn); !strings.Contains(got, "TASK_NOT_FOUND") {
		t.Errorf("SendMessage: %s, want a text that contains %q", got, "TASK_NOT_FOUND")
	}
	if got := ask(narrow.Token, "GetTask", `{"id":"`+searched+`"}`); !strings.Contains(got, "secret of /search") {
		t.Errorf("GetTask: %s, want a text that contains %q", got, "secret of /search")
	}
	for token, want := range map[string][]string{narrow.Token: {searched}, whole.Token: {searched, ordered}} {
		var list struct {
			Result struct {
				Tasks     []taskAnswer
				TotalSize int
			}
		}
		g.Must(json.Unmarshal([]byte(ask(token, "ListTasks", `{"includeArtifacts":true}`)), &list))
		var ids []string
		for _, task := range list.Result.Tasks {
			ids = append(ids, task.ID)
		}
		if strings.Join(ids, " ") != strings.Join(want, " ") || list.Result.TotalSize != len(want) {
			t.Errorf("ListTasks: %v of %d, want %v", ids, list.Result.TotalSize, want)
		}
	}
}
