package chat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/chat"
)

const id = "6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f"

func message(content string) string {
	return fmt.Sprintf(`{"timestamp": "2026-01-02T03:04:05.123456+00:00", "msg_id": %q, "content": %s}`, id, content)
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		want    chat.Message
	}{
		"a text":                {`[{"type": "text", "text": "help"}]`, chat.Message{ID: id, Text: "help", Texts: 1}},
		"several texts":         {`[{"type": "text", "text": "run a"}, {"type": "text", "text": "{}"}]`, chat.Message{ID: id, Text: "run a\n{}", Texts: 2}},
		"a session that starts": {`[{"type": "start-session"}]`, chat.Message{ID: id, Starts: true}},
		"a session that ends":   {`[{"type": "text", "text": ""}, {"type": "end-session"}]`, chat.Message{ID: id, Texts: 1, Ends: true}},
		"nothing":               {`[]`, chat.Message{ID: id}},
		"files and cards": {
			`[{"type": "resource", "resource_id": "x", "resource": {}}, {"type": "metadata", "metadata": {}}, {"type": "start-stream"}]`,
			chat.Message{ID: id, Others: 3},
		},
	} {
		got, err := chat.Parse([]byte(message(c.content)))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %v, nil", name, got, err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not JSON":             `{`,
		"a list":               `[]`,
		"nothing":              `{}`,
		"an additional member": strings.Replace(message("[]"), `{"timestamp"`, `{"x": 1, "timestamp"`, 1),
		"an id of version 1":   strings.Replace(message("[]"), "4c6e", "1c6e", 1),
		"an id of no variant":  strings.Replace(message("[]"), "9f10", "1f10", 1),
		"a text with more":     message(`[{"type": "text", "text": "agree x", "annotations": "not meant"}]`),
		"an end with more":     message(`[{"type": "text", "text": "agree x"}, {"type": "end-session", "text": "not"}]`),
		"an invalid id":        strings.Replace(message("[]"), id, "x", 1),
		"no content":           message("null"),
		"content of no items":  message(`["text"]`),
		"an unknown type":      message(`[{"type": "song"}]`),
		"an invalid text":      message(`[{"type": "text", "text": 1}]`),
		"too many items":       message("[" + strings.Repeat(`{"type": "end-session"},`, 100) + `{"type": "end-session"}]`),
		"too long":             message(`[{"type": "text", "text": "` + strings.Repeat("x", chat.MaxText+1) + `"}]`),
	} {
		if got, err := chat.Parse([]byte(text)); !errors.Is(err, chat.ErrMessage) {
			t.Errorf("%s: %+v, %v, want %v", name, got, err, chat.ErrMessage)
		}
	}
}

// Receivers accept exactly these members.
func TestSay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 4, 4, 5, 123_456_789, time.FixedZone("", 3600))
	text, err := chat.Say("a \"text\"\n", true, now)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := chat.Parse(text); err != nil || m.Text != "a \"text\"\n" || !m.Ends {
		t.Errorf("got %+v, %v", m, err)
	}
	tree, err := strictjson.DecodeObject(text)
	if err != nil {
		t.Fatal(err)
	}
	delete(tree, "msg_id")
	want := strictjson.Object{"timestamp": "2026-01-02T03:04:05.123456+00:00", "content": []any{
		strictjson.Object{"type": "text", "text": "a \"text\"\n"}, strictjson.Object{"type": "end-session"},
	}}
	if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(tree)); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
	taken, err := chat.Acknowledge(id, now)
	if want := `{"timestamp":"2026-01-02T03:04:05.123456+00:00","acknowledged_msg_id":"` + id + `"}`; err != nil || string(taken) != want {
		t.Errorf("got %s, %v", taken, err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]chat.Command{
		"help":                            {Name: "help"},
		" List  red lamps \n":             {Name: "list", Rest: "red lamps"},
		"run shop:a:v1\n{\"q\": \"x y\"}": {Name: "run", Rest: "shop:a:v1\n{\"q\": \"x y\"}"},
		"helpful lamps":                   {Rest: "helpful lamps"},
		"I agree":                         {Rest: "I agree"},
		"":                                {},
	} {
		if got := chat.Read(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestAgrees(t *testing.T) {
	t.Parallel()
	item := func(text string) string { return `{"type": "text", "text": "` + text + `"}` }
	for content, want := range map[string]string{
		item("agree sha-256:x plan pro"):       "sha-256:x pro",
		item(`agree sha-256:x\nplan  pro `):    "sha-256:x pro",
		item("agree sha-256:x plan"):           "",
		item("agree sha-256:x plan pro today"): "",
		item("agree sha-256:x Plan pro"):       "",
		item("agree plan pro"):                 "",
		item("agree sha-256:x"):                "sha-256:x",
		item(`AGREE\tsha-256:x `):              "sha-256:x",
		`{"type": "start-session"}, ` + item("agree sha-256:x") + `, {"type": "end-session"}`: "sha-256:x",
		item("agree"):                                                      "",
		item("agree sha-256:x not"):                                        "",
		item("I agree sha-256:x"):                                          "",
		item("agreed sha-256:x"):                                           "",
		item("run agree sha-256:x"):                                        "",
		item("agree") + ", " + item("sha-256:x"):                           "",
		item("") + ", " + item("agree sha-256:x"):                          "",
		item("agree sha-256:x") + ", " + item("not"):                       "",
		item("agree sha-256:x") + `, {"type": "resource", "resource": []}`: "",
		"": "",
	} {
		m, err := chat.Parse([]byte(message("[" + content + "]")))
		if err != nil {
			t.Errorf("%s: %v", content, err)
		}
		digest, plan, ok := m.Agrees()
		if got := strings.TrimSpace(digest + " " + plan); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t", content, got, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(message(`[{"type": "text", "text": "agree x"}, {"type": "end-session"}]`)))
	f.Add([]byte(message(`[{"type": "resource", "resource": []}]`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := chat.Parse(text)
		if err != nil {
			return
		}
		if len(m.Text) > chat.MaxText || m.ID == "" {
			t.Errorf("got %+v", m)
		}
		output, err := chat.Say(m.Text, m.Ends, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := chat.Parse(output); err != nil || again.Text != m.Text || again.Ends != m.Ends {
			t.Errorf("%+v, %v, want %+v", again, err, m)
		}
	})
}
