package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
)

// report writes the lines in arguments, each the stated number of times. TOKEN represents the progress token of the call.
func report(meta, arguments json.RawMessage) {
	var in struct {
		Lines []string
		Times int
	}
	var beside struct{ ProgressToken json.RawMessage }
	if err := json.Unmarshal(arguments, &in); err != nil {
		panic(err)
	}
	_ = json.Unmarshal(meta, &beside) // there may be none
	out := bufio.NewWriter(os.Stdout)
	for range max(1, in.Times) {
		for _, line := range in.Lines {
			_, _ = out.WriteString(strings.ReplaceAll(line, "TOKEN", string(beside.ProgressToken)) + "\n")
		}
	}
	_ = out.Flush()
}

func note(params string) string {
	return `{"jsonrpc":"2.0","method":"notifications/progress","params":{` + params + `}}`
}

func TestProgressOfAProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		times int
		want  []mcp.Progress
		count int // if want is nil
	}{
		"in order": {
			lines: []string{
				note(`"progressToken":TOKEN,"progress":0.1,"total":12345678901234567890,"message":"böom"`),
				note(`"progressToken":TOKEN,"progress":2`),
			},
			want: []mcp.Progress{{"0.1", "12345678901234567890", "böom"}, {"2", "", ""}},
		},
		"of other requests": {
			lines: []string{
				note(`"progressToken":99999,"progress":1`), note(`"progressToken":"TOKEN","progress":1`), note(`"progress":1`),
				note(`"progressToken":TOKEN.0,"progress":1`), note(`"progressToken":-TOKEN,"progress":1`), note(`"progressToken":null,"progress":1`),
			},
			want: []mcp.Progress{},
		},
		"damaged": {
			lines: []string{
				note(`"progressToken":TOKEN`), note(`"progressToken":TOKEN,"progress":"1"`), note(`"progressToken":TOKEN,"progress":{}`),
				note(`"progressToken":TOKEN,"progress":` + strings.Repeat("1", 40)),
				`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}`,
				note(`"progressToken":TOKEN,"progress":1,"total":"x","message":7`),
			},
			want: []mcp.Progress{{"1", "", ""}},
		},
		"a long message": {
			lines: []string{note(`"progressToken":TOKEN,"progress":1,"message":"` + strings.Repeat("x", 40_000) + `"`)},
			want:  []mcp.Progress{{"1", "", strings.Repeat("x", 40_000)}},
		},
		"a million": {lines: []string{note(`"progressToken":TOKEN,"progress":1`)}, times: 1_000_000, count: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noon := time.Now()
			s, err := mcp.New(mcp.Config{
				Command: command(t, "reports"), Sessions: 1, MaxMessage: 256 << 20, Now: func() time.Time { return noon },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			arguments, err := json.Marshal(map[string]any{"lines": c.lines, "times": c.times})
			if err != nil {
				t.Fatal(err)
			}
			got := []mcp.Progress{}
			for _, asked := range []bool{true, false} {
				call := mcp.Call{Tool: "try", Arguments: arguments}
				if asked {
					call.Progress = func(p mcp.Progress) { got = append(got, p) }
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				r, _, err := s.Call(ctx, call, func() error { return nil })
				cancel()
				if err != nil || string(r.Result) != `{"structuredContent":{"done":true}}` {
					t.Fatalf("asked %v: got %s, %v", asked, r.Result, err)
				}
			}
			if c.want == nil && len(got) != c.count || c.want != nil && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %d: %.300v", len(got), got)
			}
		})
	}
}

// A caller that does not receive its notifications delays no other call of the process.
func TestASlowReceiverHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "reports")
	arguments, err := json.Marshal(map[string]any{"lines": []string{note(`"progressToken":TOKEN,"progress":1`)}, "times": 300})
	if err != nil {
		t.Fatal(err)
	}
	began, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		once := false
		_, _, err := s.Call(deadline(t), mcp.Call{Tool: "try", Arguments: arguments, Progress: func(mcp.Progress) {
			if !once {
				once = true
				close(began)
				<-goOn
			}
		}}, func() error { return nil })
		done <- err
	}()
	<-began
	if _, _, err := s.Call(deadline(t), mcp.Call{Tool: "try", Arguments: []byte(`{}`)}, func() error { return nil }); err != nil {
		t.Error(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
