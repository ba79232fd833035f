package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	mostStreams        = 64 // of all sessions
	mostStreamsOfOne   = 8  // of one session
	figuresEvery       = 2 * time.Second
	streamTime         = 10 * time.Minute // the browser then opens another stream
	sessionCheckEvery  = 10 * time.Second // how often the session of a stream is checked
	figuresReadingTime = 5 * time.Second
)

// liveFigures are the figures of all services, read at most once in figuresEvery for all streams.
type liveFigures struct {
	reading singleflight.Group
	mu      sync.Mutex
	at      time.Time // end of the last read
	list    map[string]map[string]string
}

// unknown is shown for a figure that could not be read.
const unknown = "?"

// events sends the figures of the overview as server-sent events until the browser disconnects or the session ends.
func (r *request) events() error {
	s := &r.console.streams
	if !s.places.Enter(r.session.ID) {
		return reason.TooManyConnections.Refusal("Too many pages of the console are open.").After(time.Minute).ShedFor(reason.ShedStreams)
	}
	defer s.places.Leave(r.session.ID)
	writer := http.NewResponseController(r.w)
	_ = writer.SetReadDeadline(time.Time{}) // the server's deadline would end the stream; not every ResponseWriter has one
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	service := r.service()
	end := time.NewTimer(streamTime)
	defer end.Stop()
	tick := time.NewTicker(figuresEvery)
	defer tick.Stop()
	checked := r.console.Now()
	for {
		if now := r.console.Now(); now.Sub(checked).Abs() >= sessionCheckEvery {
			if _, err := r.sessionOf(r.session.ID); errors.Is(err, errSignedOut) || !r.console.Directory.Current().Console {
				return nil
			}
			checked = now
		}
		figures := r.console.figures(r.Context(), service)
		text, err := json.Marshal(figures)
		if err != nil {
			return err
		}
		_ = writer.SetWriteDeadline(time.Now().Add(streamTime)) //nolint:forbidigo // deadlines of connections use the machine's clock
		if _, err := fmt.Fprintf(r.w, "event: figures\ndata: %s\n\n", text); err != nil || writer.Flush() != nil {
			return nil // the browser has disconnected
		}
		select {
		case <-tick.C:
		case <-end.C:
			return nil
		case <-s.end:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// figures returns the figures of a service by the names of card.Live. A figure that cannot be read before ctx or the
// process ends is unknown.
func (c *Console) figures(ctx context.Context, service string) map[string]string {
	f := &c.streams.fresh
	if figures, fresh := f.of(service, c.Now()); fresh {
		return figures
	}
	read := f.reading.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), figuresReadingTime)
		defer cancel()
		status := c.Operator.Statuses.Summary(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.at, f.list = c.Now(), figuresOf(&status)
		c.addCallFigures(ctx, &status, f.list)
		return nil, nil //nolint:nilnil // the result is in f
	})
	select {
	case <-read:
	case <-ctx.Done():
	case <-c.streams.end:
	}
	figures, _ := f.of(service, c.Now())
	return figures
}

// of returns the figures of a service, and whether they are fresh.
func (f *liveFigures) of(service string, now time.Time) (figures map[string]string, fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	figures, fresh = f.list[service], f.list != nil && now.Sub(f.at).Abs() < figuresEvery
	if figures == nil {
		figures = map[string]string{}
		for name := range figuresOf(&status.Status{Services: make([]status.ServiceStatus, 1)})[""] {
			figures[name] = unknown
		}
	}
	return figures, fresh
}

func figuresOf(s *status.Status) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, one := range s.Services {
		out[one.ID] = map[string]string{
			"ready": yesNo(s.Ready), "stops": strconv.Itoa(len(s.Stops)), "waiting_agents": count(one.WaitingAgents),
			"unresolved": count(one.Unresolved), "under_way": strconv.Itoa(one.UnderWay), "waiting": strconv.Itoa(one.Waiting),
			"breaker": one.Breaker,
		}
	}
	return out
}

// addCallFigures adds the figures that are the same for all services.
func (c *Console) addCallFigures(ctx context.Context, s *status.Status, services map[string]map[string]string) {
	all := map[string]string{"certificates": certificates(s).Value, "configuration": reloadCard(s).Value}
	if list, err := c.Operator.Processes.Processes(ctx); err == nil {
		all["processes"], _, _ = processFigures(list, s.Configuration)
	}
	if figures, err := c.Operator.Processes.CallFigures(ctx, processes.FigureQuery{}); err == nil {
		all["calls_per_second"], all["refusals_per_second"] = ratesOf(&figures)
	}
	for _, one := range services {
		maps.Copy(one, all)
	}
}
