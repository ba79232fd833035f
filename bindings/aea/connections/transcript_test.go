package connections_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

var update = flag.Bool("update-transcripts", false, "write the bytes on the wire into the transcripts, for review")

const vectors = "../../../internal/wire/aea/testdata/vectors.txt"

// A transcript has the bytes that both sides write. Each line is a frame, request, response or record in hexadecimal digits.
type transcript struct {
	t    *testing.T
	text strings.Builder
}

var (
	// references matches the dialogue references that the gateway makes.
	references = regexp.MustCompile(`[0-9a-f]{64}`)
	tokens     = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

func (x *transcript) says(who, what string, data []byte) {
	if who == "gateway" {
		data = references.ReplaceAll(data, []byte(strings.Repeat("b", 64)))
		data = tokens.ReplaceAll(data, []byte(strings.Repeat("c", 32)))
	}
	fmt.Fprintf(&x.text, "%s: %s%s\n", who, what, hex.EncodeToString(data))
}

// writes sends a frame of the agent, and reads receives a frame of the gateway.
func (x *transcript) writes(to io.Writer, f wire.FrameFormat, content []byte) {
	x.t.Helper()
	frame, err := f.Append(nil, content)
	if err != nil {
		x.t.Fatal(err)
	}
	x.says("agent", "", frame)
	if _, err := to.Write(frame); err != nil {
		x.t.Fatal(err)
	}
}

func (x *transcript) reads(from io.Reader, f wire.FrameFormat) {
	x.t.Helper()
	content, err := f.Read(from)
	if err != nil {
		x.t.Fatal(err)
	}
	frame, err := f.Append(nil, content)
	if err != nil {
		x.t.Fatal(err)
	}
	x.says("gateway", "", frame)
}

// TestTranscripts compares the traffic with transcripts, byte for byte. The agents send messages that the framework has written.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	key := aeatest.Key(t, aeatest.KeyPublished) // its address is the sender of the call for proposals
	record := aeatest.Record(aeatest.NodeKey, key, identity.Fetchai)
	for name, talk := range map[string]func(x *transcript, a connections){
		"tcp": func(x *transcript, a connections) {
			conn := dial(x.t, a.tcp.Address())
			x.writes(conn, wire.TCP, []byte("me"))
			x.writes(conn, wire.TCP, aeavectors.Vector(x.t, vectors, "envelope/default-bytes"))
			x.reads(conn, wire.TCP)
			x.writes(conn, wire.TCP, []byte("no envelope"))
			x.writes(conn, wire.TCP, aeavectors.Vector(x.t, vectors, "envelope/default-bytes")) // sent again, it gets the same reply
			x.reads(conn, wire.TCP)
		},
		"stub": func(x *transcript, a connections) {
			in := aeavectors.Vector(x.t, vectors, "stub/default-bytes")
			x.says("agent", "", in)
			if err := os.WriteFile(filepath.Join(a.directory, "output_file"), in, 0o600); err != nil {
				x.t.Fatal(err)
			}
			for deadline := time.Now().Add(30 * time.Second); ; {
				out, err := os.ReadFile(filepath.Join(a.directory, "input_file"))
				if err != nil || time.Now().After(deadline) {
					x.t.Fatal("no record", err)
				}
				if len(out) > 0 {
					x.says("gateway", "", out)
					return
				}
			}
		},
		"delegate": func(x *transcript, a connections) {
			conn, _ := aeatest.Connect(x.t, a.delegate.Address()) // not in the transcript, because its proof is new each time
			x.writes(conn, wire.ACN, acn.Message{Kind: acn.Register, Record: &record}.Encode())
			x.reads(conn, wire.ACN)
			envelope := acn.Message{Kind: acn.Envelope, Envelope: aeavectors.Vector(x.t, vectors, "envelope/cfp")}.Encode()
			x.writes(conn, wire.ACN, envelope) // no skill handles it
			first, second := next(x.t, conn), next(x.t, conn)
			if first.Kind != acn.Status {
				first, second = second, first // their order is not fixed
			}
			x.says("gateway", "status ", first.Encode())
			x.says("gateway", "envelope ", second.Encode())
			x.writes(conn, wire.ACN, acn.Message{Kind: acn.Status}.Encode())
			x.writes(conn, wire.ACN, aeavectors.Vector(x.t, vectors, "acn/envelope")) // from another sender
			x.reads(conn, wire.ACN)
			x.writes(conn, wire.ACN, []byte("no message"))
			x.reads(conn, wire.ACN)
		},
		"mailbox": func(x *transcript, a connections) {
			config, token := aeatest.Trusting(x.t, a.mailbox.Address()), ""
			asks := func(method, path string, body []byte) (answer []byte) {
				x.says("agent", method+" "+path+" ", body)
				status, answer := aeatest.TryHTTPS(x.t, config, a.mailbox.Address(), token, method, path, body)
				x.says("gateway", fmt.Sprint(status, " "), answer)
				return answer
			}
			token = string(asks(http.MethodPost, "/register", record.Encode()))
			asks(http.MethodGet, "/get_envelope", nil)
			asks(http.MethodPost, "/send_envelope", aeavectors.Vector(x.t, vectors, "envelope/cfp"))
			a.until(x.t, func(s runtime.Status) bool { return s.Errors.Answered == 1 })
			asks(http.MethodGet, "/get_envelope", nil)
			asks(http.MethodPost, "/send_envelope", aeavectors.Vector(x.t, vectors, "envelope/default-bytes")) // from another sender
			asks(http.MethodGet, "/unregister", nil)
			asks(http.MethodGet, "/get_envelope", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &transcript{t: t}
			talk(x, listening(t, runtime.Limits{}))
			file := filepath.Join("testdata", "transcripts", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(x.text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), x.text.String()); diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
		})
	}
}

// until waits for a status.
func (a connections) until(t *testing.T, is func(runtime.Status) bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(a.Status()); {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v", a.Status())
		}
	}
}

func dial(t *testing.T, to string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// next returns the next ACN message.
func next(t *testing.T, conn io.Reader) acn.Message {
	t.Helper()
	frame, err := wire.ACN.Read(conn)
	if err != nil {
		t.Fatal(err)
	}
	m, err := acn.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
