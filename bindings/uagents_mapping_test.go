package bindings_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/uagents"
	configtest "github.com/uimgate/uimgate/internal/test/config"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

const (
	lampQuery = `{"title": "LampQuery", "type": "object", "properties": {"wish": {"title": "Wish", "type": "string"}}, "required": ["wish"]}`
	lampCount = `{"title": "LampCount", "type": "object", "properties": {"lamps": {"title": "Lamps", "type": "integer"}, ` +
		`"note": {"title": "Note", "type": "string"}}, "required": ["lamps"]}`
	mapping = "models: [{intent: 'shop.example:search:v1', request: '" + lampQuery + "', response: '" + lampCount +
		"', parameters: {query: wish}, output: {lamps: count}}], "
)

// TestOwnModel checks that an agent that sends only a model of the operator calls an intent, and gets a typed reply or an ErrorMessage.
func TestOwnModel(t *testing.T) {
	t.Parallel()
	p := openedAs(t, strings.Replace(uagentsSettings, "uagents: {", "uagents: {"+mapping, 1))
	request, err := protocol.NewModel([]byte(lampQuery))
	p.Must(err)
	response, err := protocol.NewModel([]byte(lampCount))
	p.Must(err)
	send := func(message string) (envelope.ModelDigest, string) {
		t.Helper()
		e := p.unsigned("UIMSearch", message)
		e.SchemaDigest = request.Digest
		a := p.submit(http.MethodPost, p.text(e.Sign(p.key)))
		_, text := p.opens(a) // also verifies the signature
		answer, err := envelope.Parse(a.Body)
		p.Must(err)
		return answer.SchemaDigest, string(text)
	}
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"count": 7, "note": "soon", "secret": 1}`)
	}
	failed := protocol.Standard("ErrorMessage").Digest
	if digest, text := send(`{"wish": "too early"}`); digest != failed || !strings.Contains(text, "gree") {
		t.Errorf("without an agreement: %s %s", digest, text)
	}
	p.agreed()
	if digest, text := send(`{"wish": "lamp"}`); digest != response.Digest || text != `{"lamps":7,"note":"soon"}` {
		t.Errorf("got %s %s", digest, text)
	}
	if digest, text := send(`{"wish": 7}`); digest != failed || !strings.Contains(text, "does not fit its model") {
		t.Errorf("a message that does not fit: %s %s", digest, text)
	}
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"count": "many"}`) }
	if digest, text := send(`{"wish": "another lamp"}`); digest != failed || !strings.Contains(text, "does not fit the model of the reply") {
		t.Errorf("an output that does not fit: %s %s", digest, text)
	}
	var published []protocol.Manifest
	for _, text := range strings.Split(string(p.Get("/uagents/manifest").Body), `{"version":"1.0",`)[1:] {
		m, err := protocol.ParseManifest([]byte(`{"version":"1.0",` + strings.TrimRight(strings.TrimSpace(text), ",]")))
		p.Must(err)
		published = append(published, m)
	}
	if len(published) != 5 || published[4].Interactions[0].Request != request.Digest || len(published[4].Interactions[0].Responses) != 2 {
		t.Errorf("got %+v", published)
	}
}

func TestInvalidModels(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	health := string(protocol.Standard("HealthCheck").Schema)
	for models, want := range map[string]string{
		"{intent: 'a:b:v1', request: '{}', response: '" + lampCount + "'}":             "models[0].request: not a model",
		"{request: '" + lampQuery + "', response: '" + lampCount + "'}":                "models[0].intent: is required",
		"{intent: 'a:b:v1', request: '" + health + "', response: '" + lampCount + "'}": "models[0].request: is a standard model",
	} {
		c, problems := dir.Load(t, (&uagents.Door{}).Blocks(), configtest.Service+"  doors: {uagents: {models: ["+models+"]}}\n")
		if c != nil || !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%s:\n%s", models, cmp.Diff(want, strings.Join(problems, "\n")))
		}
	}
}
