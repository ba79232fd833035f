package confirm

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"
	"time"
)

const (
	path        = "/confirm/"
	maxForm     = 4 << 10
	maxRequests = 16
	timeout     = 30 * time.Second
	maxHeader   = 16 << 10
)

//go:embed page.html
var pageSource string

//go:embed page.css
var style string

var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageSource)) })

// content is the content of the page.
type content struct {
	Style  template.CSS
	Action string
	Open   bool // the form is shown
	Call   Call
	Notice string
}

var notices = map[answer]string{
	gone:     "This call no longer waits for you: it was already confirmed or refused, or ten minutes have passed.",
	allowed:  "You have confirmed the call. Return to your assistant.",
	refused:  "You have refused the call. The assistant cannot make it.",
	wrong:    "The code is wrong. Nothing was confirmed.",
	tooOften: "Too many codes were wrong. Nothing was confirmed.",
	broken:   "The code on this machine cannot be read. Nothing was confirmed. Set it with uimgate agent confirm-code.",
}

var statuses = map[answer]int{
	gone: http.StatusGone, allowed: http.StatusOK, refused: http.StatusOK, wrong: http.StatusForbidden,
	tooOften: http.StatusTooManyRequests, broken: http.StatusInternalServerError,
}

func (p *Pages) newServer() *http.Server {
	places := make(chan struct{}, maxRequests)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+"{id}", p.show)
	mux.HandleFunc("POST "+path+"{id}", p.decide)
	own := p.address
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				http.Error(w, "Too many requests are in progress.", http.StatusServiceUnavailable)
				return
			}
			header(w.Header())
			if origin := r.Header.Get("Origin"); r.Host != own || origin != "" && origin != "http://"+own {
				http.Error(w, "The Host and the Origin of a request must be those of this page.", http.StatusForbidden)
				return
			}
			mux.ServeHTTP(w, r)
		}),
		ReadTimeout: timeout, WriteTimeout: 2 * timeout, IdleTimeout: timeout, MaxHeaderBytes: maxHeader,
	}
}

func header(h http.Header) {
	sum := sha256.Sum256([]byte(style))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// show responds with the page of a question.
func (p *Pages) show(w http.ResponseWriter, r *http.Request) {
	p.write(w, r.PathValue("id"), "", http.StatusOK)
}

// decide responds to the form of the page.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	var a answer
	switch r.PostForm.Get("decision") {
	case "confirm":
		a = p.confirm(id, r.PostForm.Get("code"))
	case "refuse":
		a = p.refuse(id)
	default:
		http.Error(w, "The form has no decision.", http.StatusBadRequest)
		return
	}
	p.write(w, id, notices[a], statuses[a])
}

// write writes the page of a question. A question that is not open is a page with only a notice.
func (p *Pages) write(w http.ResponseWriter, id, notice string, status int) {
	c := content{Style: template.CSS(style), Action: path + id, Notice: notice} //nolint:gosec // the style is a constant
	p.mu.Lock()
	p.expire()
	if q := p.byID[id]; q != nil && q.state == Open {
		c.Open, c.Call = true, q.call
	}
	p.mu.Unlock()
	if !c.Open && notice == "" {
		c.Notice, status = notices[gone], http.StatusGone
	}
	var out bytes.Buffer
	if err := page().Execute(&out, c); err != nil {
		http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}
