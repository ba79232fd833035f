package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
)

const problemAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:read:v1", "intent_name": "Read", "description": "Read.",
     "input_parameters": [{"name": "account", "type": "integer", "maximum": 99, "required": true}, {"name": "id", "type": "string"}],
     "endpoint": {"url": "https://shop.example/read?v=1&n={id}", "method": "GET"}},
    {"intent_uid": "shop.example:path:v1", "intent_name": "Path", "description": "Path.",
     "input_parameters": [{"name": "id", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/path/{id}", "method": "GET"}},
    {"intent_uid": "shop.example:write:v1", "intent_name": "Write", "description": "Write.",
     "input_parameters": [{"name": "options", "type": "object"}],
     "endpoint": {"url": "https://shop.example/write", "method": "POST"}},
    {"intent_uid": "shop.example:text:v1", "intent_name": "Text", "description": "Text.",
     "input_parameters": [{"name": "id", "type": "string"}, {"name": "rest", "type": "any"}],
     "endpoint": {"url": "https://shop.example/text?q={id}-{rest}", "method": "GET"}},
    {"intent_uid": "shop.example:form:v1", "intent_name": "Form", "description": "Form.",
     "endpoint": {"url": "https://shop.example/form", "method": "POST", "content_type": "application/x-www-form-urlencoded"}},
    {"intent_uid": "shop.example:core:v1", "intent_name": "Core", "description": "Core.",
     "input_parameters": [{"name": "item", "type": "string"}]}
  ]
}`

const problemPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim", "permission": [{"target": "https://shop.example/api/intents", "action": "execute"}]}`

// load reads a configuration whose service has these additional keys, and returns its problems.
func load(t *testing.T, keys string) (*service.LoadedConfig, string) {
	t.Helper()
	dir := t.TempDir()
	text := "services:\n- agents_file: agents.json\n  policy_file: policy.json\n" + keys
	if !strings.Contains(keys, "upstream:") {
		text += "  upstream: {url: http://127.0.0.1:9, execute: /execute}\n"
	}
	for name, data := range map[string]string{"agents.json": problemAgents, "policy.json": problemPolicy, "uimgate.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Env: func(string) (string, bool) { return "", false }})
	var loaded *service.LoadedConfig
	if cfg != nil {
		loaded, problems = service.Load(t.Context(), cfg, time.Now)
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, strings.TrimPrefix(p.String(), dir+"/"))
	}
	return loaded, strings.Join(lines, "\n")
}

// A fixed value that cannot be used is reported when the configuration is read, with its line but without the value.
func TestProblemsOfFixedValues(t *testing.T) {
	own := func(uid, fixed string) string {
		return "  intents:\n    \"shop.example:" + uid + ":v1\":\n      fixed: {" + fixed + "}\n"
	}
	wide := func(fixed string) string { return "  fixed: {" + fixed + "}\n" }
	for name, tt := range map[string]struct{ keys, want string }{ // want "": no problem
		"a parameter":      {own("read", `account: 7`), ""},
		"a number as text": {own("read", `account: "7"`), ""},
		"an unknown parameter": {own("read", `acount: 7`), "uimgate.yaml:6: " +
			`services[0].intents["shop.example:read:v1"].fixed["acount"]: is not a parameter of this intent; did you mean "account"?`},
		"a value that does not fit":              {own("read", `account: hushhush`), `the value must be of type "integer"`},
		"a value out of range":                   {own("read", `account: 123456`), "the value must be at most 99"},
		"nothing":                                {own("read", `account: `), "is empty"},
		"an unset variable":                      {own("read", `account: "${HUSHHUSH}"`), "the environment variable HUSHHUSH is not set"},
		"a path that leaves its segment":         {own("path", `id: hush/hush`), "the fixed value of id is part of the URL and must not contain /"},
		"body text next to an agent's parameter": {own("text", `rest: hushhush`), ""},
		"object below an agent's text":           {own("text", `rest: {a: hushhush}`), "the fixed value of rest is part of a longer value in the URL"},
		"a query the endpoint has":               {own("read", `"query:v": hushhush`), "the query of the endpoint already contains it"},
		"a query that is a parameter":            {own("read", `"query:n": hushhush`), ""},
		"a query member that is an object":       {own("read", `"query:x": {a: hushhush}`), "cannot be in a query"},
		"a body value for GET":                   {own("read", `"body:/x": hushhush`), "calls to this intent have no body, because their method is GET"},
		"an invalid body pointer":                {own("write", `"body:x": hushhush`), "is not a place in a body"},
		"a body pointer into a list":             {own("write", `"body:/x/0": hushhush`), "points into a list"},
		"a member inside a parameter":            {own("write", `"body:/options/secret": hushhush`), `is a part of the parameter "options", which agents send`},
		"a member inside another":                {own("write", `"body:/a": hushhush, "body:/a/b": hushhush`), "another fixed value already has this place"},
		"a whole parameter of the body":          {own("write", `"body:/options": {secret: hushhush}`), ""},
		"an object in a form":                    {own("form", `"body:/a/b": hushhush`), "a form has no nested members"},
		"a form":                                 {own("form", `"body:/a": [hushhush, 2]`), ""},
		"a core body":                            {own("core", `"body:/a": hushhush, "body:/parameters/item": 1, "body:/parameters/more": 1`), ""},
		"the uid in a core body":                 {own("core", `"body:/intent_uid": hushhush`), "the gateway sets this member itself"},
		"a header of ours":                       {own("read", `"header:UIM-Agent-Id": hushhush`), "is set by the gateway itself"},
		"a header of the connection":             {own("read", `"header:Content-Length": "1"`), "is set by the gateway itself"},
		"a header over two lines":                {own("read", `"header:X-A": "hush\nhush"`), "cannot be in a header"},
		"a header without a name":                {own("read", `"header:": hushhush`), "does not name a place"},
		"the credential's header": {own("read", `"header:x-key": hushhush`) +
			"  upstream: {url: http://127.0.0.1:9, execute: /e, auth: {header: \"X-Key: a\"}}\n", "is already set by upstream.auth"},
		"service value without a place":        {wide(`account: 7, acount: 8`), `services[0].fixed["acount"]: no intent has a place for this value`},
		"service value with a place":           {wide(`account: 7, "body:/x": hushhush, "query:v": hushhush, "header:Accept": application/vnd.x+json`), ""},
		"service value inside a parameter":     {wide(`"body:/options/x": hushhush`), ""},
		"value of the intent takes precedence": {wide(`"query:account": 123456`) + own("read", `account: 7`), ""},
		"value too large":                      {wide(`"body:/x": "` + strings.Repeat("hush", 16<<10) + `"`), "is too large: at most 65536 bytes are allowed"},
		"value too deep":                       {wide(`"body:` + strings.Repeat("/x", 17) + `": hushhush`), "is too deep: at most 16 levels are allowed"},
		"number that JSON cannot express":      {wide(`"body:/x": 0x68757368`), "the value is not a valid JSON number"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, problems := load(t, tt.keys)
			if tt.want == "" && (loaded == nil || problems != "") {
				t.Errorf("refused: %s", problems)
			}
			if tt.want != "" && !strings.Contains(problems, tt.want) {
				t.Errorf("got %q, want %q", problems, tt.want)
			}
			if strings.Contains(problems, "hush") || strings.Contains(problems, "123456") {
				t.Errorf("the problem contains the value: %s", problems)
			}
		})
	}
}
