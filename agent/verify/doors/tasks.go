package doors

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// operate sends an A2A operation, with or without the PAT.
func (d *Doors) operate(ctx context.Context, h http.Header, operation string, params map[string]any) (reply, error) {
	h.Set("Accept", "application/json")
	if h.Get("A2a-Version") == "" {
		h.Set("A2a-Version", "1.0")
	}
	return d.send(ctx, d.a2a.url, h, operation, params)
}

// unknownTask is an id that no task has.
const unknownTask = "00000000-0000-7000-8000-000000000000"

func (d *Doors) a2aChallenge(ctx context.Context) point.Finding {
	r, err := d.operate(ctx, http.Header{}, "GetTask", map[string]any{"id": unknownTask})
	switch {
	case err != nil:
		return point.Failed(err)
	case r.Status/100 == 2 && (r.result != nil || r.failed != nil):
		d.a2a.open = true
		return point.Skipped.Because("it accepts messages without a token")
	}
	if f := point.Status(r.Answer, http.StatusUnauthorized); !f.Ok() {
		return f
	}
	_, f := challenge(r.Answer)
	return f
}

// refusedAs returns the finding for a reply that must be an error with this code.
func (r *reply) refusedAs(code int64) point.Finding {
	switch {
	case r.failed != nil && r.failed.code == code:
		return point.Pass
	case r.result != nil:
		return point.Wrong.Because("the response is a result")
	case r.failed != nil && r.Status != http.StatusUnauthorized:
		return point.Wrong.Because("the response is the error %d, not %d", r.failed.code, code)
	}
	return r.answered()
}

func (d *Doors) a2aTaskUnknown(ctx context.Context) point.Finding {
	if d.Token == "" && !d.a2a.open {
		return wantsToken
	}
	r, err := d.operate(ctx, d.bearer(http.Header{}), "GetTask", map[string]any{"id": unknownTask})
	if err != nil {
		return point.Failed(err)
	}
	f := r.refusedAs(taskNotFound)
	d.a2a.taken = f.Ok()
	return f
}

// a2aHTTP requests a task that does not exist, through the other binding.
func (d *Doors) a2aHTTP(ctx context.Context) point.Finding {
	if d.a2a.rest == "" {
		return notOffered("the card has no interface HTTP+JSON")
	}
	h := d.bearer(http.Header{"A2a-Version": {"1.0"}, "Accept": {"application/a2a+json, application/json"}})
	a, err := d.ask(ctx, http.MethodGet, strings.TrimRight(d.a2a.rest, "/")+"/tasks/"+unknownTask, h, nil)
	if err != nil {
		return point.Failed(err)
	}
	if f := point.Status(a, http.StatusNotFound); !f.Ok() {
		return f
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return point.Wrong.Because("the 404 is not a JSON object: nothing is served there")
	}
	if !slices.Contains(reasonsIn(tree.Object("error").List("details")), "TASK_NOT_FOUND") {
		return point.Wrong.Because("the 404 has no ErrorInfo with the reason TASK_NOT_FOUND")
	}
	return point.Pass
}

// a2aRevoked sends a request with the revoked PAT.
func (d *Doors) a2aRevoked(ctx context.Context) point.Finding {
	if !d.a2a.taken || d.a2a.open {
		return point.Skipped.Because("the PAT was not needed there")
	}
	r, err := d.operate(ctx, d.bearer(http.Header{}), "GetTask", map[string]any{"id": unknownTask})
	if err != nil {
		return point.Failed(err)
	}
	return point.Status(r.Answer, http.StatusUnauthorized)
}

func (d *Doors) a2aVersion(ctx context.Context) point.Finding {
	r, err := d.operate(ctx, d.bearer(http.Header{"A2a-Version": {"99.0"}}), "GetTask", map[string]any{"id": unknownTask})
	if err != nil {
		return point.Failed(err)
	}
	return r.refusedAs(versionNotSupported)
}

// sendMessage sends a call in a message whose only data part is the UIM body.
func (d *Doors) sendMessage(ctx context.Context, c Call) (reply, error) {
	d.sent++
	return d.operate(ctx, d.bearer(http.Header{}), "SendMessage", map[string]any{"message": map[string]any{
		"messageId": "uimgate-verify-" + strconv.FormatInt(d.Now().UnixNano(), 36) + "-" + strconv.Itoa(d.sent), "role": "ROLE_USER",
		"parts": []any{map[string]any{"data": json.RawMessage(c.Body), "mediaType": "application/json"}},
	}})
}

func (d *Doors) a2aCall(ctx context.Context) point.Finding {
	if d.Sample.Intent == nil {
		return noSample
	}
	r, err := d.sendMessage(ctx, d.Sample)
	if err != nil {
		return point.Failed(err)
	}
	if f := r.answered(); !f.Ok() {
		return f
	}
	d.a2a.called = r
	task := r.result.Object("task")
	switch state := task.Object("status").Text("state"); {
	case task == nil:
		return point.Wrong.Because("the result of SendMessage has no task")
	case task.Text("id") == "":
		return point.Wrong.Because("the task has no id")
	case state != "TASK_STATE_COMPLETED":
		return point.Wrong.Because("the task is %.40q, but HTTP executes the call", state)
	}
	for _, item := range task.List("artifacts") {
		artifact, _ := strictjson.AsObject(item)
		if data, ok := dataIn(artifact); ok {
			return d.fits(data)
		}
	}
	return point.Missing.Because("the task has no artifact with data")
}

// dataIn returns the data of the first data part of an artifact or a message.
func dataIn(of strictjson.Object) (any, bool) {
	for _, item := range of.List("parts") {
		if part, _ := strictjson.AsObject(item); part.Has("data") {
			return part["data"], true
		}
	}
	return nil, false
}

func (d *Doors) a2aLimits(context.Context) point.Finding { return d.shared(d.a2a.called.Header) }

// a2aRefused makes the call that HTTP refused because of its parameters. The response must be an error, or a task that is not completed.
func (d *Doors) a2aRefused(ctx context.Context) point.Finding {
	if d.Refused.Intent == nil {
		return noRefusal
	}
	r, err := d.sendMessage(ctx, d.Refused)
	if err != nil {
		return point.Failed(err)
	}
	want := d.Refused.reason()
	if r.failed != nil && r.Status != http.StatusUnauthorized {
		reasons := reasonsIn(r.failed.tree.List("data"))
		switch {
		case len(reasons) == 0:
			return point.Missing.Because("the error %d has no ErrorInfo with a reason", r.failed.code)
		case slices.Contains(reasons, want):
			return point.Pass
		}
		return sameReason(reasons[0], want)
	}
	if f := r.answered(); !f.Ok() {
		return f
	}
	status := r.result.Object("task").Object("status")
	if state := status.Text("state"); state != "TASK_STATE_REJECTED" && state != "TASK_STATE_FAILED" {
		return point.Wrong.Because("the task is %.40q", state)
	}
	data, _ := dataIn(status.Object("message"))
	tree, _ := strictjson.AsObject(data)
	if got := reasonIn(tree); got != "" {
		return sameReason(got, want)
	}
	return point.Missing.Because("the message of the task has no error in the form of HTTP")
}

// reasonsIn returns the reasons of all google.rpc.ErrorInfo in the data of an error. A2A 1.0, 9.5.
func reasonsIn(list []any) []string {
	const most = 100
	var out []string
	for _, item := range list {
		info, _ := strictjson.AsObject(item)
		if reason := info.Text("reason"); reason != "" && len(out) < most {
			out = append(out, reason)
		}
	}
	return out
}
